import { readFile } from 'node:fs/promises';
import { parseDurationMs } from '@mcm/api';
import { ConfigError, errorText } from '@mcm/kube';
import { z } from 'zod';
import { issueText } from '../../values/issue-text.ts';

/**
 * The signing keys of a webhook. During a rotation, a webhook has two keys, and each call has one signature for each
 * key.
 */
export interface HookKeys {
  readonly read: () => Promise<{ readonly keys: readonly Uint8Array[]; readonly problem?: string | undefined }>;
}

/**
 * The name and the URL of a program that runs the steps of hooks. Objects in the cluster contain only the name of the
 * webhook.
 */
export interface HookWebhook {
  readonly name: string;
  readonly url: URL;
  /** Certificate authorities in PEM format (default: the certificate authorities of Node.js). */
  readonly ca: string | undefined;
  readonly keys: HookKeys;
  readonly timeoutMs: number;
}

const NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
const DEFAULT_TIMEOUT = '10s';
const LONGEST_TIMEOUT_MS = 30_000;
const KEY_BYTES = { min: 24, max: 64 } as const;
const KEY_PREFIX = 'whsec_';
/** A webhook has at most two signing keys: the new key and the previous key. */
const MOST_KEYS = 2;

const schema = z.strictObject({
  webhooks: z
    .array(
      z.strictObject({
        name: z.string().regex(NAME, 'must be a lowercase DNS name; hooks use this name as their owner'),
        url: z.string(),
        keyFile: z.string().min(1),
        caFile: z.string().min(1).optional(),
        timeout: z.string().default(DEFAULT_TIMEOUT),
      }),
    )
    .max(50),
});

export type ReadText = (path: string) => Promise<string>;

const readText: ReadText = (path) => readFile(path, 'utf8');

function urlOf(text: string, field: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') throw new ConfigError(`${field}: must be an https URL, not "${text.slice(0, 200)}"`);
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(`${field}: must not contain a user or a password; the signature authenticates the calls`);
  if (url.hash !== '') throw new ConfigError(`${field}: must not contain a fragment`);
  return url;
}

function keysOf(text: string, field: string): readonly Uint8Array[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length > MOST_KEYS)
    throw new ConfigError(`${field}: must contain at most ${MOST_KEYS} keys, not ${lines.length}`);
  return (lines.length === 0 ? [''] : lines).map((line) => keyOf(line, field));
}

function keyOf(text: string, field: string): Uint8Array {
  const encoded = text.trim();
  const key = encoded.startsWith(KEY_PREFIX) ? Buffer.from(encoded.slice(KEY_PREFIX.length), 'base64') : undefined;
  if (key === undefined || key.length < KEY_BYTES.min || key.length > KEY_BYTES.max)
    throw new ConfigError(
      `${field}: must contain ${KEY_PREFIX} and ${KEY_BYTES.min} to ${KEY_BYTES.max} bytes in base64; create a key with: echo "${KEY_PREFIX}$(openssl rand -base64 32)"`,
    );
  return key;
}

function timeoutOf(text: string, field: string): number {
  const timeoutMs = parseDurationMs(text);
  if (timeoutMs === undefined || timeoutMs <= 0 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw new ConfigError(`${field}: must be a duration above 0s and at most 30s, not "${text}"`);
  return timeoutMs;
}

function parsed(text: string, file: string): z.infer<typeof schema> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${file}: must contain JSON: ${errorText(error)}`);
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `${issue.path.join('.') || 'the document'}: ${issueText(issue)}`);
  throw new ConfigError(`${file}: ${problems.join('; ')}`);
}

/** mcm reads the signing keys before each call, so that a new key needs no restart. */
function rotatingKeys(first: readonly Uint8Array[], read: () => Promise<readonly Uint8Array[]>): HookKeys {
  let last = first;
  return {
    read: async () => {
      try {
        last = await read();
        return { keys: last };
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        return { keys: last, problem: error.message };
      }
    },
  };
}

/**
 * Reads the file of `--hook-webhooks` and the certificates once, when the process starts.
 * @throws ConfigError with the field and the fix
 */
export async function readHookWebhooks(path: string, read: ReadText = readText): Promise<readonly HookWebhook[]> {
  const flag = `--hook-webhooks=${path}`;
  const contents = async (file: string, field: string): Promise<string> => {
    try {
      return await read(file);
    } catch (error) {
      throw new ConfigError(`${field}: cannot be read: ${errorText(error)}`);
    }
  };
  const { webhooks } = parsed(await contents(path, flag), flag);
  const twice = webhooks.find(({ name }, index) => webhooks.findIndex((other) => other.name === name) < index);
  if (twice) throw new ConfigError(`${flag}: two webhooks have the name "${twice.name}"`);
  return Promise.all(
    webhooks.map(async ({ name, url, keyFile, caFile, timeout }, index) => {
      const field = (last: string): string => `${flag}: webhooks.${index}.${last}`;
      const ca = caFile === undefined ? undefined : await contents(caFile, field('caFile'));
      const keys = async () => keysOf(await contents(keyFile, field('keyFile')), field('keyFile'));
      if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----'))
        throw new ConfigError(`${field('caFile')}: contains no PEM certificate`);
      return {
        name,
        url: urlOf(url, field('url')),
        ca,
        keys: rotatingKeys(await keys(), keys),
        timeoutMs: timeoutOf(timeout, field('timeout')),
      };
    }),
  );
}
