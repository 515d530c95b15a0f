export { mergeIgnition } from './merge.ts';
export { type ParsedIgnition, parseIgnition, parseIgnitionText, readIgnition, unifyIgnition } from './read.ts';
export { validateIgnition } from './validate.ts';
export { compactIgnition } from './values/compact.ts';
export {
  DataUrlError,
  decodeContents,
  encodeBase64DataUrl,
  encodeDataUrl,
  parseDataUrl,
} from './values/data-url.ts';
export { IgnitionError, type Issue, printIssues } from './values/report.ts';
export { textFile } from './values/text-file.ts';
export {
  emptyIgnition,
  IGNITION_VERSION,
  type IgnitionConfig,
  type IgnitionFile,
  type IgnitionResource,
  type IgnitionUnit,
  type IgnitionUser,
  ignitionConfigSchema,
} from './versions/schema.ts';
export { type IgnitionV2, ignitionV2Schema } from './versions/schema-v2.ts';
export { SERVED_VERSIONS, type ServedVersion, toIgnitionVersion } from './versions/to-version.ts';
