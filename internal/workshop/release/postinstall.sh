#!/bin/sh
# After an upgrade the services run the new program. A new installation starts nothing.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart plantstore.service plantstore-webhook.service
fi
