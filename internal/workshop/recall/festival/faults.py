"""What can be wrong with the service, and the group of each fault in the table of recall."""
MEMBERS, FILTERS, RANGES = "members and dates", "filters of equal values", "ranges"
ECHO, DELETES = "echo", "deletes"

FAULTS = {
    "dates-swapped": (MEMBERS, "a new screening has opens and closes swapped"),
    "closes-copied": (MEMBERS, "closes of a new screening is that of opens"),
    "subtitle-dropped": (MEMBERS, "a new screening loses its subtitle"),
    "false-dropped": (MEMBERS, "withGuest is left out where it is false"),
    "price-rounded": (MEMBERS, "the price of a new screening is stored as a whole number"),
    "organiser-is-venue": (MEMBERS, "organiser of a new screening is its venue"),
    "language-constant": (MEMBERS, "each new screening has the language en"),
    "put-loses-subtitle": (MEMBERS, "PUT of a screening loses its subtitle"),
    "put-keeps-closes": (MEMBERS, "PUT of a screening does not change closes"),
    "patch-changes-both": (MEMBERS, "PATCH of opens changes closes, too"),
    "minutes-capped": (MEMBERS, "minutes above 200 are stored as 200"),

    "language-never": (FILTERS, "language=ja finds nothing"),
    "format-ignored": (FILTERS, "the filter format is ignored"),
    "format-as-film": (FILTERS, "format=live finds the screenings of film"),
    "venue-by-prefix": (FILTERS, "venue finds venues that begin with it"),
    "venue-by-suffix": (FILTERS, "venue finds venues that end with it"),
    "venue-contains": (FILTERS, "venue finds venues that have it somewhere"),
    "venue-without-case": (FILTERS, "venue does not distinguish upper case and lower case"),
    "filters-or": (FILTERS, "language and format find what either of them finds"),
    "second-filter-lost": (FILTERS, "format is ignored where language is given"),

    "from-exclusive": (RANGES, "from does not find what opens on that day"),
    "to-exclusive": (RANGES, "to does not find what opens on that day"),
    "to-ignored-with-from": (RANGES, "to is ignored where from is given"),
    "from-by-closes": (RANGES, "from compares closes instead of opens"),
    "min-price-exclusive": (RANGES, "minPrice does not find what costs just that"),
    "max-price-ignored": (RANGES, "maxPrice is ignored"),

    "notice-without-phone": (ECHO, "the response of a new notice has no phone although one was sent"),
    "notice-dates-swapped": (ECHO, "the response of a new notice has validFrom and validUntil swapped"),
    "ticket-row-one": (ECHO, "the response of a new ticket has the row 1, whatever was sent"),
    "hall-name-cut": (ECHO, "the response of a new hall has only the first 10 characters of its name"),

    "screening-stays": (DELETES, "DELETE of a screening is 204 and deletes nothing"),
    "hall-stays": (DELETES, "DELETE of a hall is 204 and deletes nothing"),
    "ticket-stays": (DELETES, "DELETE of a ticket is 204 and deletes nothing"),
    "another-deleted": (DELETES, "DELETE of a screening deletes the newest one"),
    "list-keeps": (DELETES, "a deleted screening stays in the list"),
}
