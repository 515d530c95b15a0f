export { cloneJson, equalJson, isRecord, own, put, sortedJson } from '../apimachinery/objects/json-value.ts';
export { type CompiledSchema, compileSchema } from './compile.ts';
