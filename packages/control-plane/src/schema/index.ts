export { type CompiledSchema, compileSchema } from './compile.ts';
