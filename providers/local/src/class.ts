/** Reads provider specs. The class is separate from the driver, so that its users do not load the client of the cloud. */
export { readSpec } from './driver/decode.ts';
