export {
  type CelRule,
  type CrdKeywords,
  count,
  crd,
  duration,
  flag,
  int32,
  int64,
  intOrPercent,
  knownText,
  labelMap,
  objectMeta,
  optional,
  quantity,
  stringMap,
  text,
  time,
} from '../kinds/fields.ts';
export { CONDITION_FIELDS } from '../kinds/shared.ts';
export {
  type CrdOptions,
  type CrdResource,
  type CustomResourceDefinition,
  customResourceDefinition,
  type PrinterColumn,
} from './custom-resource-definition.ts';
export { type GenerateOptions, generateCrdFiles } from './generate-files.ts';
export { type StructuralSchema, structuralSchema } from './structural-schema.ts';
export { crdFileName, crdYaml } from './yaml.ts';
