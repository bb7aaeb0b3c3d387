#!/bin/sh
# Alpine starts nothing by itself.
echo "To start Reprise, now and at each boot: rc-service reprise start; rc-update add reprise"
echo "The link for the first account is in /var/log/reprise/reprise.log."
