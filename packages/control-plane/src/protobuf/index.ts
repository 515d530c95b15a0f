export { decodeProtobuf } from './decode.ts';
