/** Reads provider specs. It is apart from the driver, so that a caller loads no cloud SDK. */
export { readSpec } from './driver/decode.ts';
