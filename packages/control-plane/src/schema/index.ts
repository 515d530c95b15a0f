export { type CompiledSchema, compileSchema } from './compile.ts';
export { cloneJson, equalJson, isRecord, own, put, sortedJson } from './json.ts';
