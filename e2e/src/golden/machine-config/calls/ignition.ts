import {
  compactIgnition,
  decodeContents,
  parseIgnition,
  parseIgnitionText,
  readIgnition,
  toIgnitionVersion,
  validateMachineConfigSpec,
} from '@mcm/machine-config';
import { attempt, type Call, errorOf } from './call.ts';

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
