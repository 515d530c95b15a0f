import { readFile } from 'node:fs/promises';
import { errorText } from '../base/error-text.ts';
import type { Clock } from '../clock/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { mustNotHaveExpired } from './key-pair.ts';

/** Reads a file as text. */
export type ReadText = (path: string) => Promise<string>;

/** What a look at the files of a configuration showed. */
export type FilesNews =
  | { readonly kind: 'as-before' }
  | { readonly kind: 'renewed'; readonly config: ClusterConfig }
  /** What was read before stays in use. */
  | { readonly kind: 'unusable'; readonly sentence: string };

/** How files are followed. */
export interface FollowOptions {
  readonly clock: Clock;
  /** Is told after each look. */
  readonly onFiles?: (news: FilesNews) => void;
}

/** As client-go; a kubelet takes as long to bring a Secret that has changed. */
const LOOK_MS = 60_000;
/** After a refusal, which may be one of hundreds. */
const LOOK_AGAIN_MS = 1_000;

interface Loaded {
  readonly config: ClusterConfig;
  /** What was read, by path; undefined for what could not be. */
  readonly texts: ReadonlyMap<string, string | undefined>;
}

type Load = (read: ReadText) => Promise<ClusterConfig>;

async function loadOnce(load: Load): Promise<Loaded> {
  const texts = new Map<string, string | undefined>();
  const read: ReadText = async (path) => {
    texts.set(path, undefined);
    const text = await readFile(path, 'utf8');
    texts.set(path, text);
    return text;
  };
  return { config: await load(read), texts };
}

async function haveChanged(texts: Loaded['texts']): Promise<boolean> {
  for (const [path, before] of texts) {
    const now = await readFile(path, 'utf8').catch(() => undefined);
    if (now !== before) return true;
  }
  return false;
}

const addressOf = ({ server, tlsServerName, proxyUrl, insecureSkipTlsVerify = false }: ClusterConfig): string =>
  JSON.stringify([server, tlsServerName, proxyUrl, insecureSkipTlsVerify]);

/** Another cluster has none of the machines, which must not be taken for their end. */
function mustBeSameServer(before: ClusterConfig, after: ClusterConfig): void {
  if (addressOf(before) === addressOf(after)) return;
  throw new ConfigError(
    `the files name another API server, or another way to it (${after.server}, before ${before.server}); restart the process to use that one`,
  );
}

/** A client certificate that has expired is told at the start, and tried; it takes no other one's place. */
function mustBeOfUse({ clientCertificate, from }: ClusterConfig, now: Date): void {
  const text = clientCertificate?.certificate;
  if (text !== undefined) mustNotHaveExpired({ text, from: from?.clientCertificate ?? 'the client certificate' }, now);
}

/**
 * What `load` makes of the files that it reads, and from then on, by `latest`, what it makes of them when they have
 * changed: authorities, client certificates, tokens. The server stays the same.
 */
export async function followFiles(
  load: Load,
  { clock, onFiles = () => undefined }: FollowOptions,
): Promise<ClusterConfig> {
  const first = await loadOnce(load);
  let current = first;
  let lookedAt = clock.monotonic();
  let everyMs = LOOK_MS;
  let looking: Promise<void> | undefined;
  /** Undefined: a program that the files name gave nothing. */
  let told: ClusterConfig | undefined = first.config;
  const look = async (): Promise<void> => {
    if (!(await haveChanged(current.texts))) return told && onFiles({ kind: 'as-before' });
    try {
      const next = await loadOnce(load);
      mustBeSameServer(first.config, next.config);
      mustBeOfUse(next.config, clock.now());
      current = next;
      told = next.config;
      onFiles({ kind: 'renewed', config: next.config });
    } catch (error) {
      onFiles({ kind: 'unusable', sentence: `${errorText(error)}; what was read before stays in use` });
    }
  };
  /** What a program that the files name gives now. */
  const given = async (config: ClusterConfig): Promise<ClusterConfig> => {
    if (config.latest === undefined) return config;
    try {
      const latest = await config.latest();
      if (latest !== told) onFiles({ kind: 'renewed', config: latest });
      told = latest;
      return latest;
    } catch (error) {
      told = undefined;
      onFiles({ kind: 'unusable', sentence: errorText(error) });
      throw error;
    }
  };
  const latest = async (): Promise<ClusterConfig> => {
    if (looking === undefined && clock.monotonic() - lookedAt >= everyMs) {
      lookedAt = clock.monotonic();
      everyMs = LOOK_MS;
      looking = look().finally(() => {
        looking = undefined;
      });
    }
    await looking;
    return given(current.config);
  };
  const lookAgain = (): void => {
    everyMs = LOOK_AGAIN_MS;
    current.config.lookAgain?.();
  };
  return { ...first.config, latest, lookAgain };
}
