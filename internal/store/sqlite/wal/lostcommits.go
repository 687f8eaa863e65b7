package wal

// lostCommits counts the commits behind a damaged frame, from the frames of a log in their order.
type lostCommits struct {
	count    int
	doubtful int            // more of them, unless a later frame is damaged: see addMixed
	unseen   int            // commits of these pages whose frame is destroyed: a page comes again without one
	pages    map[int64]bool // of a transaction, which has each once, but perhaps that of its commit
}

// add adds a frame. An intact one has no damaged frame before it.
func (lost *lostCommits) add(current frame, intact bool) {
	switch {
	case intact:
	case current.commits():
		lost.count += 1 + lost.unseen
	case lost.pages[current.number()]:
		lost.unseen, lost.doubtful = 1, 0
	}
	lost.pages[current.number()] = true
	if current.commits() {
		lost.unseen = 0
		clear(lost.pages)
	}
}

// addMixed adds a damaged frame that may be mixed. A power cut that mixes it also damages the end of the frame
// before, which is in the same sector, unless that frame is of an earlier transaction. Then the frames behind
// it tell: a power cut that damages one of them has torn all of the transaction.
func (lost *lostCommits) addMixed(current frame, wholeBefore bool) {
	lost.doubtful = 0
	if current.commits() && (wholeBefore || lost.count+lost.unseen > 0) {
		lost.doubtful = 1
	}
}

// mayBeMixed reports whether a sector of a disk ends after the first 8 bytes of a frame, which say what page it has
// and whether it commits. A power cut may leave them of an earlier log, and the salts behind them of this one. That is
// so for one frame in 64, with every page size. If the header is damaged, a power cut is not the reason.
func (content *Content) mayBeMixed(number int64) bool {
	const sector = 512
	return content.explained > 0 && content.End(number-1)%sector == sector-8
}
