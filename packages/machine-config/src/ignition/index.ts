export { compactIgnition } from './compact.ts';
export { mergeIgnition } from './merge.ts';
export { type ParsedIgnition, parseIgnition, parseIgnitionText, readIgnition, unifyIgnition } from './read.ts';
export { textFile } from './text-file.ts';
export { SERVED_VERSIONS, type ServedVersion, toIgnitionVersion } from './to-version.ts';
export { validateIgnition } from './validation/validate.ts';
export {
  DataUrlError,
  decodeContents,
  encodeBase64DataUrl,
  encodeDataUrl,
  parseDataUrl,
} from './values/data-url.ts';
export { IgnitionError, type Issue, printIssues } from './values/report.ts';
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
