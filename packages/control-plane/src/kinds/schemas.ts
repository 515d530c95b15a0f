import type { JsonSchema } from './kind.ts';

/** Stub until the generated definitions are linked. */
export const definitionSchema = (_model: string): JsonSchema => ({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
});
