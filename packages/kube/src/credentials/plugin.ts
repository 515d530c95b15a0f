import { withoutUndefined } from '../base/defined.ts';
import { errorText } from '../base/error-text.ts';
import type { Clock } from '../clock/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { execAsker, type Given, readPlugin } from './exec-plugin.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface PluginUser {
  readonly cluster: Fields;
  readonly user: Fields;
  readonly folder: string;
  readonly label: string;
}

/**
 * The plugin runs at most once in this interval, because an API server may refuse hundreds of requests at the same
 * time.
 */
const FORGET_EVERY_MS = 1_000;
const REASON_LENGTH = 300;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

function named({ user, label }: PluginUser): string {
  const { exec } = user;
  const name = isFields(exec) && exec.command !== undefined ? `exec plugin ${String(exec.command)}` : 'auth-provider';
  return `the ${name} of ${label}`;
}

/** Returns the reason of an error. */
const reason = (error: unknown): string =>
  error instanceof SyntaxError
    ? 'the output is not JSON'
    : errorText(error).replace(/\s+/g, ' ').trim().slice(0, REASON_LENGTH);

const PROVIDERS = ['azure', 'gcp', 'oidc'];

async function asker(of: PluginUser, ca: string | undefined, clock: Clock): Promise<() => Promise<Given>> {
  const { cluster, user, folder } = of;
  const ask = isFields(user.exec)
    ? execAsker(readPlugin(user.exec, cluster, ca, { name: named(of), folder }), clock)
    : await providerAsker(of);
  return () =>
    ask().catch((error: unknown) => {
      throw new ConfigError(
        `${named(of)} returned no credentials (${reason(error)}); check the command, args, env and requirements of the plugin`,
      );
    });
}

/** The library for auth-providers uses 60 MB of memory, so only users with an auth-provider load it. */
async function providerAsker(of: PluginUser): Promise<() => Promise<Given>> {
  const provider = of.user['auth-provider'];
  const known = isFields(provider) ? String(provider.name) : '';
  if (!PROVIDERS.includes(known))
    throw new ConfigError(
      `${of.label}: user.auth-provider.name is ${JSON.stringify(known)}; use one of ${PROVIDERS.join(', ')}, or user.exec`,
    );
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const { 'certificate-authority': _, ...cluster } = of.cluster;
  const name = 'selected';
  const selected = {
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster }],
    users: [{ name, user: of.user }],
  };
  config.loadFromString(JSON.stringify(selected));
  return async () => {
    const options: { headers?: Record<string, string> } = {};
    await config.applyToHTTPSOptions(options);
    const authorization = options.headers?.Authorization;
    if (authorization === undefined) throw new Error('the program returned no token');
    return { authorization, clientCertificate: undefined };
  };
}

/** Adds the credentials of a plugin to a configuration. */
export async function withPlugin(cluster: ClusterConfig, of: PluginUser, clock: Clock): Promise<ClusterConfig> {
  let ask = await asker(of, cluster.ca, clock);
  let given = await ask();
  let asking: Promise<ClusterConfig> | undefined;
  let isForgotten = false;
  let forgottenAt = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<ClusterConfig> => {
    if (isForgotten) ask = await asker(of, cluster.ca, clock);
    isForgotten = false;
    const next = await ask();
    if (JSON.stringify(next) !== JSON.stringify(given)) current = configOf(next);
    given = next;
    return current;
  };
  const latest = (): Promise<ClusterConfig> => {
    asking ??= look().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const lookAgain = (): void => {
    if (clock.monotonic() - forgottenAt < FORGET_EVERY_MS) return;
    forgottenAt = clock.monotonic();
    isForgotten = true;
  };
  const configOf = ({ authorization, clientCertificate }: Given): ClusterConfig => ({
    ...cluster,
    authorization: async () => authorization,
    ...withoutUndefined({ clientCertificate }),
    latest,
    lookAgain,
  });
  let current = configOf(given);
  return current;
}
