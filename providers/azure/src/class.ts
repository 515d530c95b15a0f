/** Reads provider specs. The class is separate from the driver, so that its users do not load the SDK of the cloud. */
export { readSpec } from './driver/decode.ts';
