import { errorText } from '../base/error-text.ts';
import type { Clock } from '../clock/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { execAsker, type Given, readPlugin } from './exec-plugin.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a kubeconfig that say which program gives credentials. */
export interface PluginUser {
  readonly cluster: Fields;
  readonly user: Fields;
  /** Of the kubeconfig, which the program's path starts from. */
  readonly folder: string;
  /** As an error names the kubeconfig. */
  readonly label: string;
}

/** Hundreds of requests may be refused at once. */
const FORGET_EVERY_MS = 1_000;
/** Some programs end with a stack. */
const REASON_LENGTH = 300;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

function named({ user, label }: PluginUser): string {
  const { exec } = user;
  const name = isFields(exec) && exec.command !== undefined ? `exec plugin ${String(exec.command)}` : 'auth-provider';
  return `the ${name} of ${label}`;
}

/** What the program said of it, in a line; its answer may hold a token and is never quoted, as a parser's words would. */
const reason = (error: unknown): string =>
  error instanceof SyntaxError
    ? 'its answer is not JSON'
    : errorText(error).replace(/\s+/g, ' ').trim().slice(0, REASON_LENGTH);

/** Names of auth-providers that `@kubernetes/client-node` knows. */
const PROVIDERS = ['azure', 'gcp', 'oidc'];

/** A question for credentials, which is asked again once what it gave has expired. @throws ConfigError for a user that it cannot be */
async function asker(of: PluginUser, ca: string | undefined, clock: Clock): Promise<() => Promise<Given>> {
  const { cluster, user, folder } = of;
  const ask = isFields(user.exec)
    ? execAsker(readPlugin(user.exec, cluster, ca, { name: named(of), folder }), clock)
    : await providerAsker(of);
  return () =>
    ask().catch((error: unknown) => {
      throw new ConfigError(
        `${named(of)} gave no credentials (${reason(error)}); look at its command, args and env, and what it needs`,
      );
    });
}

/** The library costs 60 MB, so it is loaded for users with an auth-provider only. */
async function providerAsker(of: PluginUser): Promise<() => Promise<Given>> {
  const provider = of.user['auth-provider'];
  const known = isFields(provider) ? String(provider.name) : '';
  if (!PROVIDERS.includes(known))
    throw new ConfigError(
      `${of.label}: user.auth-provider.name is ${JSON.stringify(known)}; it must be one of ${PROVIDERS.join(', ')}, or use user.exec`,
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
    if (authorization === undefined) throw new Error('it gave no token');
    return { authorization, clientCertificate: undefined };
  };
}

/** The cluster with what a program gives as credentials: by `latest` what it gives now, which after `lookAgain` is asked of it again. */
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
    ...(clientCertificate && { clientCertificate }),
    latest,
    lookAgain,
  });
  let current = configOf(given);
  return current;
}
