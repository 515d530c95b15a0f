import { bytesOf, unpackedText } from '@mcm/core/driver';

/** Returns the user data that a booting VM reads. Gzip is decompressed, as in cloud-init. */
export const bootText = (userData: Uint8Array): string => unpackedText(userData) ?? bytesOf(userData).toString('utf8');
