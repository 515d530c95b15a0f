import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import { tokenFile } from './token-file.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a kubeconfig that its current context names. */
interface Selected {
  readonly cluster: Fields;
  readonly user: Fields;
  readonly namespace: string | undefined;
  readonly folder: string;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (fields: Fields, name: string): string | undefined => {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

async function parse(path: string): Promise<Fields> {
  let source: string;
  try {
    source = await readFile(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ConfigError(`kubeconfig ${path} cannot be read (${why})`);
  }
  const { parseDocument } = await import('yaml');
  const document = parseDocument(source, { prettyErrors: false });
  const problem = document.errors[0];
  // Never the parser's own words: they quote the line, which may hold a key.
  if (problem !== undefined)
    throw new ConfigError(`kubeconfig ${path} is not YAML (${problem.code} at character ${problem.pos[0]})`);
  const value: unknown = document.toJS();
  if (!isFields(value)) throw new ConfigError(`kubeconfig ${path} is not a mapping`);
  return value;
}

/** The entry `name` of the list `list`, e.g. of `clusters`. */
function named(config: Fields, list: string, field: string, name: string, path: string): Fields {
  const entries = config[list];
  const found = Array.isArray(entries) ? entries.find((entry) => isFields(entry) && entry.name === name) : undefined;
  const value: unknown = isFields(found) ? (found[field] ?? {}) : undefined;
  if (!isFields(value)) throw new ConfigError(`kubeconfig ${path} has no ${field} "${name}" in ${list}`);
  return value;
}

function select(config: Fields, path: string): Selected {
  const current = text(config, 'current-context');
  if (current === undefined)
    throw new ConfigError(`kubeconfig ${path} has no current-context; set one with kubectl config use-context`);
  const context = named(config, 'contexts', 'context', current, path);
  const clusterName = text(context, 'cluster');
  if (clusterName === undefined) throw new ConfigError(`kubeconfig ${path}: context "${current}" names no cluster`);
  const userName = text(context, 'user');
  return {
    cluster: named(config, 'clusters', 'cluster', clusterName, path),
    user: userName === undefined ? {} : named(config, 'users', 'user', userName, path),
    namespace: text(context, 'namespace'),
    folder: dirname(path),
  };
}

/** PEM from `<name>-data` (base64) or from the file that `<name>` names, relative to the kubeconfig. */
async function pem(fields: Fields, name: string, selected: Selected, path: string): Promise<string | undefined> {
  const data = text(fields, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = text(fields, name);
  if (file === undefined) return undefined;
  try {
    return await readFile(resolve(selected.folder, file), 'utf8');
  } catch (error) {
    throw new ConfigError(`kubeconfig ${path}: ${name} ${file} cannot be read`, { cause: error });
  }
}

async function clientCertificate(selected: Selected, path: string) {
  const certificate = await pem(selected.user, 'client-certificate', selected, path);
  const key = await pem(selected.user, 'client-key', selected, path);
  if (certificate === undefined && key === undefined) return {};
  if (certificate === undefined || key === undefined) {
    throw new ConfigError(
      `kubeconfig ${path}: client-certificate and client-key belong together; one of them is missing`,
    );
  }
  return { clientCertificate: { certificate, key } };
}

function staticAuthorization({ user, folder }: Selected, clock: Clock): Partial<ClusterConfig> {
  const file = text(user, 'tokenFile');
  if (file !== undefined) return tokenFile(resolve(folder, file), clock);
  const token = text(user, 'token');
  const username = text(user, 'username');
  const basic =
    username === undefined ? undefined : Buffer.from(`${username}:${text(user, 'password') ?? ''}`).toString('base64');
  const header = token === undefined ? basic && `Basic ${basic}` : `Bearer ${token}`;
  return header === undefined ? {} : { authorization: async () => header };
}

/** Credentials that a program must fetch: @kubernetes/client-node knows how. It costs 60 MB, so it is loaded for them only. */
async function pluginAuthorization(path: string): Promise<Partial<ClusterConfig>> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const ask = async (): Promise<{ headers?: Record<string, string>; cert?: unknown; key?: unknown }> => {
    const options: { headers?: Record<string, string>; cert?: unknown; key?: unknown } = {};
    await config.applyToHTTPSOptions(options);
    return options;
  };
  const first = await ask();
  const { cert, key } = first;
  return {
    authorization: async () => (await ask()).headers?.Authorization,
    ...(cert === undefined || key === undefined
      ? {}
      : { clientCertificate: { certificate: String(cert), key: String(key) } }),
  };
}

/** Reads a kubeconfig file, for the cluster and user of its current context. Throws `ConfigError`. */
export async function kubeconfigFile(path: string, clock: Clock): Promise<ClusterConfig> {
  const selected = select(await parse(path), path);
  const { cluster, user, namespace } = selected;
  const server = text(cluster, 'server');
  if (server === undefined || !/^https?:\/\//.test(server)) {
    throw new ConfigError(
      `kubeconfig ${path}: cluster.server must be an http(s) URL, not ${JSON.stringify(server ?? '')}`,
    );
  }
  for (const field of ['as', 'as-groups', 'as-uid']) {
    if (user[field] !== undefined)
      throw new ConfigError(`kubeconfig ${path}: user.${field} (impersonation) is not supported; remove it`);
  }
  const needsPlugin = user.exec !== undefined || user['auth-provider'] !== undefined;
  const ca = await pem(cluster, 'certificate-authority', selected, path);
  const tlsServerName = text(cluster, 'tls-server-name');
  const proxyUrl = text(cluster, 'proxy-url');
  return {
    server,
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(await clientCertificate(selected, path)),
    ...(needsPlugin ? await pluginAuthorization(path) : staticAuthorization(selected, clock)),
  };
}
