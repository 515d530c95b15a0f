import { formatDuration, parseDuration } from './duration.ts';

/** One flag of a binary. */
export interface Flag<T> {
  /** The placeholder for the value in the help, such as `<duration>`. */
  readonly placeholder: string;
  readonly help: string;
  readonly fallback: T;
  readonly shown: string;
  readonly short?: string | undefined;
  /** The heading of the flag in the help (default: the heading for the flags of the binary). */
  readonly group?: string;
  /** The deprecated names of the flag, each with the reason to avoid the name. */
  readonly deprecated?: Readonly<Record<string, string>> | undefined;
  readonly pairs?: true;
  readonly ignored?: string;
  /** @throws RangeError with the allowed values */
  parse(text: string): T;
}

/** Flags by their names, without the dashes. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;
/** The parsed values, by flag name. */
export type FlagValues<F extends Flags> = { readonly [name in keyof F]: F[name] extends Flag<infer T> ? T : never };

interface Common<T> {
  readonly help: string;
  readonly default: T;
  readonly short?: string;
  readonly deprecated?: Readonly<Record<string, string>>;
}

const more = (options: Common<unknown>) => ({
  help: options.help,
  short: options.short,
  deprecated: options.deprecated,
});

const bounds = (min: number, max: number | undefined): string =>
  max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;

/** Creates a flag whose value is any text, or one of the texts in `oneOf`. */
export const textFlag = (
  options: Common<string> & { readonly placeholder?: string; readonly oneOf?: readonly string[] },
): Flag<string> => ({
  ...more(options),
  placeholder: options.placeholder ?? '<text>',
  fallback: options.default,
  shown: options.default,
  parse(text) {
    if (options.oneOf !== undefined && !options.oneOf.includes(text)) {
      throw new RangeError(`must be one of ${options.oneOf.join(', ')}`);
    }
    return text;
  },
});

/** Creates a flag whose value is a comma-separated list. */
export const listFlag = (options: Common<readonly string[]>): Flag<readonly string[]> => ({
  ...more(options),
  placeholder: '<a,b,…>',
  fallback: options.default,
  shown: options.default.join(','),
  parse: (text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
});

/** Creates a flag whose value maps names to integers, such as `machine=80,secret=5`. */
export const integersFlag = (
  options: Omit<Common<unknown>, 'default'> & { readonly min: number; readonly names: readonly string[] },
): Flag<Readonly<Record<string, number>>> => ({
  ...more({ ...options, default: {} }),
  placeholder: '<name=int,…>',
  fallback: {},
  shown: '',
  pairs: true,
  parse(text) {
    const values: Record<string, number> = {};
    for (const part of text.split(',').filter((piece) => piece.trim() !== '')) {
      const [name = '', value = '', ...rest] = part.split('=').map((piece) => piece.trim());
      const number = Number(value);
      if (
        !options.names.includes(name) ||
        rest.length > 0 ||
        value === '' ||
        !Number.isInteger(number) ||
        number < options.min
      ) {
        throw new RangeError(
          `must contain pairs such as ${options.names[0]}=5; the names are ${options.names.join(', ')}, and the numbers are integers ${bounds(options.min, undefined)}`,
        );
      }
      values[name] = number;
    }
    return values;
  },
});

/** Creates a flag whose value is an integer between two limits. */
export const integerFlag = (
  options: Common<number> & { readonly min: number; readonly max?: number },
): Flag<number> => ({
  ...more(options),
  placeholder: '<int>',
  fallback: options.default,
  shown: String(options.default),
  parse(text) {
    const value = Number(text);
    if (!/^[+-]?\d+$/.test(text) || value < options.min || value > (options.max ?? Number.MAX_SAFE_INTEGER)) {
      throw new RangeError(`must be an integer ${bounds(options.min, options.max)}`);
    }
    return value;
  },
});

/** Creates a flag whose value is a number with a lower limit. */
export const numberFlag = (options: Common<number> & { readonly min: number }): Flag<number> => ({
  ...more(options),
  placeholder: '<number>',
  fallback: options.default,
  shown: String(options.default),
  parse(text) {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < options.min) {
      throw new RangeError(`must be a number ${bounds(options.min, undefined)}`);
    }
    return value;
  },
});

/** Creates a boolean flag: `--name`, `--name=true` or `--name=false`. */
export const booleanFlag = (options: Common<boolean>): Flag<boolean> => ({
  ...more(options),
  placeholder: '[true|false]',
  fallback: options.default,
  shown: String(options.default),
  parse(text) {
    if (/^(true|t|1)$/i.test(text)) return true;
    if (/^(false|f|0)$/i.test(text)) return false;
    throw new RangeError('must be true or false');
  },
});

/** Creates a flag whose value is a Go duration. */
export const durationFlag = (options: Common<number> & { readonly minMs?: number }): Flag<number> => ({
  ...more(options),
  placeholder: '<duration>',
  fallback: options.default,
  shown: formatDuration(options.default),
  parse(text) {
    const ms = parseDuration(text);
    const minMs = options.minMs ?? 0;
    if (ms === undefined) throw new RangeError('must be a duration with a unit, such as 90s, 20m or 1h30m');
    if (ms < minMs) throw new RangeError(`must be a duration of at least ${formatDuration(minMs)}`);
    return ms;
  },
});

/** Puts flags under one heading in the help. */
export const flagGroup = <const F extends Flags>(group: string, flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { group, ...flag }])) as F;

/**
 * Creates a flag without an effect. Existing installations of the original pass the ignored flag, so mcm accepts it.
 */
export const ignoredFlag = (placeholder: string, why: string): Flag<string> => ({
  placeholder,
  help: why,
  fallback: '',
  shown: '',
  ignored: why,
  parse: (text) => text,
});
