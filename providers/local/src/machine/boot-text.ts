import { bytesOf, unpackedText } from '@mcm/core/driver';

/** Returns user data as text. Gzip is decompressed, as in cloud-init. */
export const bootText = (userData: Uint8Array): string => unpackedText(userData) ?? bytesOf(userData).toString('utf8');
