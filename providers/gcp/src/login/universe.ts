/** Domain of the public cloud. */
export const PUBLIC_UNIVERSE = 'googleapis.com';
