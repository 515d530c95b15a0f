import type { z } from 'zod';

/**
 * @param where the start of the error message
 * @throws Error with the names of the wrong properties, but without their values
 */
export function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(
    `${where}: ${parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')}`,
  );
}
