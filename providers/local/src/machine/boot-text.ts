import { bytesOf, unpackedText } from '@mcm/core/driver';

/** Returns user data as text. Compressed user data (gzip) is decompressed, as cloud-init does. */
export const bootText = (userData: Uint8Array): string => unpackedText(userData) ?? bytesOf(userData).toString('utf8');
