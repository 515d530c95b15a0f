import { bytesOf, unpackedText } from '@mcm/core/driver';

/** The user data that a booting VM reads. As in cloud-init, gzip is decompressed. */
export const bootText = (userData: Uint8Array): string => unpackedText(userData) ?? bytesOf(userData).toString('utf8');
