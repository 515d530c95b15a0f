export const PUBLIC_UNIVERSE = 'googleapis.com';
