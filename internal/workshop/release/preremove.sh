#!/bin/sh
# Stops the services before their program is removed, but not before an upgrade. The
# plants in /var/lib/plantstore stay. The argument is that of Debian, or that of rpm.
case $1 in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl stop plantstore.service plantstore-backup.timer plantstore-litestream.service plantstore-webhook.service
	fi
	if command -v systemctl >/dev/null; then
		systemctl disable plantstore.service plantstore-backup.timer plantstore-litestream.service plantstore-webhook.service
	fi
	;;
esac
