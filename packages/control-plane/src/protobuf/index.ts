export { decodeProtobuf } from './decode.ts';
export { encodeProtobuf, encodeWatchEvent, hasProtobuf } from './encode.ts';
export { envelopeProblem } from './envelope.ts';
