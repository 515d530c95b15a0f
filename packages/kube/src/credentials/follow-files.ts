import { readFile } from 'node:fs/promises';
import { errorText } from '../base/error-text.ts';
import type { Clock } from '../clock/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { mustNotHaveExpired } from './key-pair.ts';

export type ReadText = (path: string) => Promise<string>;

/** The result of a check of the configuration files. */
export type FilesNews =
  | { readonly kind: 'as-before' }
  | { readonly kind: 'renewed'; readonly config: ClusterConfig }
  | { readonly kind: 'unusable'; readonly sentence: string };

export interface FollowOptions {
  readonly clock: Clock;
  readonly onFiles?: ((news: FilesNews) => void) | undefined;
}

/** The interval between two checks of the files, as in client-go. */
const LOOK_MS = 60_000;
/** The minimum interval between two reads of the files after refused requests. */
const LOOK_AGAIN_MS = 1_000;

interface Loaded {
  readonly config: ClusterConfig;
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

/** If the files led to another API server, mcm would treat the current machines as deleted. */
function mustBeSameServer(before: ClusterConfig, after: ClusterConfig): void {
  if (addressOf(before) === addressOf(after)) return;
  throw new ConfigError(
    `the files contain another API server address (${after.server}, previously ${before.server}); to use the new address, restart the process`,
  );
}

/** Refuses changed files with an expired client certificate. */
function mustBeUsable({ clientCertificate, from }: ClusterConfig, now: Date): void {
  const text = clientCertificate?.certificate;
  if (text !== undefined) mustNotHaveExpired({ text, from: from?.clientCertificate ?? 'the client certificate' }, now);
}

/** Returns a configuration that follows its files. */
export async function followFiles(
  load: Load,
  { clock, onFiles = () => undefined }: FollowOptions,
): Promise<ClusterConfig> {
  const first = await loadOnce(load);
  let current = first;
  let lookedAt = clock.monotonic();
  let everyMs = LOOK_MS;
  let looking: Promise<void> | undefined;
  let reported: ClusterConfig | undefined = first.config;
  const look = async (): Promise<void> => {
    if (!(await haveChanged(current.texts))) return reported && onFiles({ kind: 'as-before' });
    try {
      const next = await loadOnce(load);
      mustBeSameServer(first.config, next.config);
      mustBeUsable(next.config, clock.now());
      current = next;
      reported = next.config;
      onFiles({ kind: 'renewed', config: next.config });
    } catch (error) {
      onFiles({ kind: 'unusable', sentence: `${errorText(error)}; continuing with the previous configuration` });
    }
  };
  const given = async (config: ClusterConfig): Promise<ClusterConfig> => {
    if (config.latest === undefined) return config;
    try {
      const latest = await config.latest();
      if (latest !== reported) onFiles({ kind: 'renewed', config: latest });
      reported = latest;
      return latest;
    } catch (error) {
      reported = undefined;
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
