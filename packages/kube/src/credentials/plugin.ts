import { resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { errorText } from '../error-text.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';

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

/** What a request is sent with. */
interface Given {
  readonly authorization: string | undefined;
  readonly clientCertificate: ClusterConfig['clientCertificate'];
}

/** Hundreds of requests may be refused at once. */
const FORGET_EVERY_MS = 1_000;
/** Some programs end with a stack. */
const REASON_LENGTH = 300;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** A program named by a path is beside the kubeconfig; a bare name is looked for in the PATH. */
function fromFolder({ user, folder }: PluginUser): Fields {
  const { exec } = user;
  if (!isFields(exec) || typeof exec.command !== 'string' || !exec.command.includes('/')) return user;
  return { ...user, exec: { ...exec, command: resolve(folder, exec.command) } };
}

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

/**
 * Asks the program, and again once what it gave has expired: `@kubernetes/client-node` knows how. It costs 60 MB, so it is loaded
 * for such users only.
 */
async function asker(of: PluginUser, ca: string | undefined): Promise<() => Promise<Given>> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const data = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const { 'certificate-authority': _, ...fields } = of.cluster;
  const name = 'selected';
  const selected = {
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { ...fields, ...data } }],
    users: [{ name, user: fromFolder(of) }],
  };
  config.loadFromString(JSON.stringify(selected));
  return async () => {
    const options: { headers?: Record<string, string>; cert?: unknown; key?: unknown } = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new ConfigError(
        `${named(of)} gave no credentials (${reason(error)}); look at its command, args and env, and what it needs`,
      );
    }
    const { headers, cert, key } = options;
    const pair = cert === undefined || key === undefined ? undefined : { certificate: String(cert), key: String(key) };
    return { authorization: headers?.Authorization, clientCertificate: pair };
  };
}

/** The cluster with what a program gives as credentials: by `latest` what it gives now, which after `lookAgain` is asked of it anew. */
export async function withPlugin(cluster: ClusterConfig, of: PluginUser, clock: Clock): Promise<ClusterConfig> {
  let ask = await asker(of, cluster.ca);
  let given = await ask();
  let asking: Promise<ClusterConfig> | undefined;
  let isForgotten = false;
  let forgottenAt = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<ClusterConfig> => {
    if (isForgotten) ask = await asker(of, cluster.ca);
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
