import { DecodeError, decode } from './plan/decode.ts';
import { validateIgnition } from './validation/validate.ts';
import { validateIgnitionV2 } from './validation/validate-v2.ts';
import { IgnitionError, type Issue, printIssues } from './values/report.ts';
import { deduplicateV2 } from './versions/deduplicate-v2.ts';
import { decoderOfRest } from './versions/older-decoders.ts';
import { IGNITION_VERSION, type IgnitionConfig } from './versions/schema.ts';
import type { IgnitionV2 } from './versions/schema-v2.ts';
import { translateV2 } from './versions/translate-v2.ts';
import { planOfVersion, type ReadableVersion, readVersion, SUPPORTED_VERSIONS } from './versions/versions.ts';

/** A valid Ignition config in its original version. */
export type ParsedIgnition =
  | { readonly version: 2; readonly config: IgnitionV2 }
  | { readonly version: 3; readonly config: IgnitionConfig };

const invalidV3 = (detail: string, issues: readonly Issue[], cause?: unknown) =>
  new IgnitionError(
    `parsing Ignition config spec v3 failed with error: config is not valid\nReport: ${detail}`,
    issues,
    cause === undefined ? undefined : { cause },
  );

const invalidV2 = (detail: string, issues: readonly Issue[], cause?: unknown) =>
  new IgnitionError(
    `parsing Ignition spec v2 failed with error: config is not valid\nReport: ${detail}`,
    issues,
    cause === undefined ? undefined : { cause },
  );

const unsupported = (version: 'invalid' | 'unknown', issues: readonly Issue[] = [], options?: ErrorOptions) =>
  new IgnitionError(
    `parsing Ignition config failed: ${version} version. Supported spec versions: ${SUPPORTED_VERSIONS}`,
    issues,
    options,
  );

/** Returns the error for an Ignition config that the decoder of its own version refuses. */
function undecodedV2(raw: unknown, version: ReadableVersion, cause: DecodeError): IgnitionError {
  const issues = [{ path: cause.path, message: cause.detail }];
  switch (decoderOfRest(raw, version)) {
    case 'older':
      return unsupported('unknown', issues, { cause });
    case 'newer':
      return new IgnitionError(
        'parsing Ignition spec v2 failed with error: HandleParseErrors called with a valid config\nReport: ',
        issues,
        { cause },
      );
    case 'none':
      return invalidV2(`${cause.message}\n`, issues, cause);
  }
}

/**
 * Parses a config of version 2 or 3, without a conversion between the two versions.
 * @throws IgnitionError
 */
export function parseIgnition(raw: unknown): ParsedIgnition {
  const version = readVersion(versionText(raw));
  if (version === 'invalid' || version === 'unknown') {
    throw unsupported(version);
  }
  return version.major === 2 ? parseV2(raw, version) : parseV3(raw, version);
}

function versionText(raw: unknown): string {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw invalidV3(`error at $: must be an object, not ${Array.isArray(raw) ? 'a list' : typeof raw}\n`, []);
  }
  const ignition = field(raw, 'ignition');
  if (ignition === undefined || ignition === null) return '';
  if (typeof ignition !== 'object' || Array.isArray(ignition)) {
    throw invalidV3('error at $.ignition: must be an object\n', []);
  }
  const version = field(ignition, 'version') ?? '';
  if (typeof version === 'string') return version;
  throw invalidV3(`error at $.ignition.version: must be a text, not ${typeof version}\n`, []);
}

/** Returns a field of an object. */
function field(value: object, name: string): unknown {
  const key = Object.keys(value).findLast((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : (value as Readonly<Record<string, unknown>>)[key];
}

function parseV3(raw: unknown, version: ReadableVersion): ParsedIgnition {
  const { minor } = version;
  let config: IgnitionConfig;
  try {
    config = decode(planOfVersion(version), raw) as IgnitionConfig;
  } catch (error) {
    if (error instanceof DecodeError) throw invalidV3(`${error.message}\n`, [], error);
    throw error;
  }
  const issues = validateIgnition(config, minor);
  if (issues.length > 0) throw invalidV3(printIssues(issues), issues);
  return { version: 3, config: toCurrent(config, minor) };
}

/**
 * Converts a valid config to the current version. The function changes the given config. Source: ignition, translate.go
 * of each version.
 */
function toCurrent(config: IgnitionConfig, minor: number): IgnitionConfig {
  config.ignition.version = IGNITION_VERSION;
  for (const { partitions = [] } of config.storage?.disks ?? []) {
    for (const partition of partitions) if (partition.number === 0) delete partition.number;
  }
  if (minor >= 3) return config;
  // The conversion writes texts that were required before version 3.3, even if the texts are empty.
  for (const link of config.storage?.links ?? []) link.target ??= '';
  for (const { clevis } of config.storage?.luks ?? []) {
    if (clevis?.custom) clevis.custom = { config: '', pin: '', ...clevis.custom };
  }
  return config;
}

function parseV2(raw: unknown, version: ReadableVersion): ParsedIgnition {
  let config: IgnitionV2;
  try {
    config = decode(planOfVersion(version), raw) as IgnitionV2;
  } catch (error) {
    if (error instanceof DecodeError) throw undecodedV2(raw, version, error);
    throw error;
  }
  const issues = validateIgnitionV2(config, version.minor);
  if (issues.length > 0) throw invalidV2(printIssues(issues), issues);
  return { version: 2, config: toCurrentV2(config, version.minor) };
}

/**
 * Writes the fields that were required before version 2.2 into the given config. Source: translate.go of each version.
 */
function toCurrentV2(config: IgnitionV2, minor: number): IgnitionV2 {
  config.ignition.version = '2.2.0';
  if (minor >= 2) return config;
  for (const directory of config.storage?.directories ?? []) directory.mode ??= 0;
  for (const file of config.storage?.files ?? []) {
    file.mode ??= 0;
    if (minor > 0) continue;
    file.user = { id: 0, ...file.user };
    file.group = { id: 0, ...file.group };
  }
  // Version 2.0 does not distinguish an empty password from an absent password.
  if (minor === 0)
    for (const user of config.passwd?.users ?? []) if (user.passwordHash === '') delete user.passwordHash;
  return config;
}

/**
 * Reads an Ignition config and converts it to version 3.5.
 * @throws IgnitionError, also for a valid config of version 2 that version 3 cannot represent
 */
export const readIgnition = (raw: unknown): IgnitionConfig => unifyIgnition(() => parseIgnition(raw));

/**
 * Converts a parsed config of version 2 to version 3.
 * @throws IgnitionError
 */
export function unifyIgnition(parse: () => ParsedIgnition): IgnitionConfig {
  const parsed = named(parse);
  return parsed.version === 3 ? parsed.config : translateV2(deduplicateV2(parsed.config));
}

function named(parse: () => ParsedIgnition): ParsedIgnition {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof IgnitionError)) throw error;
    throw new IgnitionError(`failed to parse Ignition config: ${error.message}`, error.issues, { cause: error });
  }
}

/**
 * Parses the JSON text of a config.
 * @throws IgnitionError
 */
export function parseIgnitionText(text: string): ParsedIgnition {
  if (text === '') {
    throw new IgnitionError('parsing Ignition config spec v3 failed with error: not a config (empty)\nReport: ');
  }
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw invalidV3(`error at $: ${(error as Error).message}\n`, [], error);
  }
  return parseIgnition(raw);
}
