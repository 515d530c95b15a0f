import { bytesOf, unpackedText } from '@mcm/core/driver';

/** What a VM reads of its user data when it boots: as cloud-init does, it unpacks gzip. */
export const bootText = (userData: Uint8Array): string => unpackedText(userData) ?? bytesOf(userData).toString('utf8');
