import {
  compactIgnition,
  decodeContents,
  parseIgnition,
  parseIgnitionText,
  readIgnition,
  toIgnitionVersion,
  validateMachineConfigSpec,
} from '@mcm/machine-config';
import type { Call } from './index.ts';

/** The text of an error, or null. */
export const errorOf = (work: () => void): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

/** Runs something that may fail: its answer, or the text of the error. */
export function attempt(work: () => Record<string, unknown>): Record<string, unknown> {
  try {
    return { error: null, ...work() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

export const ignitionCalls: Readonly<Record<string, Call>> = {
  validate: ({ spec, rawConfigText }: { spec?: object; rawConfigText?: string }) => ({
    error: errorOf(() => {
      if (rawConfigText !== undefined) parseIgnitionText(rawConfigText);
      else validateMachineConfigSpec(spec ?? {});
    }),
  }),
  translate: ({ config, rawText }: { config?: unknown; rawText?: string }) =>
    attempt(() => {
      if (rawText !== undefined) parseIgnitionText(rawText);
      const translated = compactIgnition(readIgnition(rawText === undefined ? config : JSON.parse(rawText)));
      return { config: translated, validationError: errorOf(() => validateMachineConfigSpec({ config: translated })) };
    }),
  toVersion: ({ config, target }: { config: unknown; target: string }) =>
    attempt(() => {
      parseIgnition(config);
      return { config: toIgnitionVersion(config, target) };
    }),
  decode: ({ source, compression }: { source: string | null; compression: string | null }) =>
    attempt(() => ({ text: decodeContents(source ?? undefined, compression ?? undefined).toString('utf8') })),
};
