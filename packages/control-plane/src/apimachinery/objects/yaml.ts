import { createRequire } from 'node:module';
import type { ScalarTag, Tags } from 'yaml';

type Yaml = typeof import('yaml');

let loaded: Yaml | undefined;

/** Loads the YAML library at the first call, because its seventy modules take a tenth of the start time. */
export function yaml(): Yaml {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml;
  return loaded;
}

const CORE = 'tag:yaml.org,2002:';
/** The YAML tags that Go's library does not support. A value with such a tag is a plain text. */
const UNKNOWN: ReadonlySet<string> = new Set(['timestamp', 'set', 'omap', 'pairs', 'binary'].map((tag) => CORE + tag));

const octal: ScalarTag = {
  tag: `${CORE}int`,
  default: true,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => Number(text.replace(/^[-+]/, '')) * (text.startsWith('-') ? -1 : 1),
};

const binary: ScalarTag = {
  tag: `${CORE}binary`,
  resolve: (text) => Buffer.from(text, 'base64').toString('utf8'),
};

/**
 * Returns the YAML 1.1 tags of the Go library. For example, `12:30` and `2020-01-01` are texts, and `0o7` is a number.
 */
export const goTags = (tags: Tags): Tags => [
  octal,
  ...tags.filter(
    (tag) => typeof tag === 'string' || !(UNKNOWN.has(tag.tag) || ('format' in tag && tag.format === 'TIME')),
  ),
  binary,
];
