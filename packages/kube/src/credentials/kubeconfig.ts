import { dirname, resolve } from 'node:path';
import { nearest } from '../base/nearest.ts';
import type { Clock } from '../clock/clock.ts';
import { isRecord } from '../contract/json-values.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';
import type { ReadText } from './follow-files.ts';
import { mustBeCertificate, mustFit, type Pem } from './key-pair.ts';
import { withPlugin } from './plugin.ts';
import { tokenFile } from './token-file.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Config {
  readonly files: readonly { readonly path: string; readonly fields: Fields }[];
  readonly label: string;
  readonly readText: ReadText;
}

interface Selected {
  readonly cluster: Part;
  readonly user: Part;
  readonly namespace: string | undefined;
}

interface Part {
  readonly fields: Fields;
  readonly folder: string;
}

const text = (fields: Fields, name: string): string | undefined => {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

async function parse(path: string, readText: ReadText, optional: boolean): Promise<Fields | undefined> {
  let source: string;
  try {
    source = await readText(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    if (optional && code === 'ENOENT') return undefined;
    throw new ConfigError(`kubeconfig ${path} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`);
  }
  const { parseDocument } = await import('yaml');
  const document = parseDocument(source, { prettyErrors: false });
  const problem = document.errors[0];
  // The message of the YAML parser quotes the invalid line. The line may contain a key, so the error omits this
  // message.
  if (problem !== undefined)
    throw new ConfigError(`kubeconfig ${path} is not YAML (${problem.code} at character ${problem.pos[0]})`);
  const value: unknown = document.toJS();
  if (!isRecord(value)) throw new ConfigError(`kubeconfig ${path} is not a mapping`);
  return value;
}

async function read(paths: readonly string[], readText: ReadText): Promise<Config> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const fields = await parse(path, readText, paths.length > 1);
      return fields === undefined ? [] : [{ path, fields }];
    }),
  );
  const label = `kubeconfig ${paths.join(' and ')}`;
  if (found.flat().length === 0) throw new ConfigError(`${label}: no file in this list exists`);
  return { files: found.flat(), label, readText };
}

const entriesOf = (
  { files }: Config,
  list: string,
): { readonly name: unknown; readonly entry: Fields; readonly folder: string }[] =>
  files.flatMap(({ path, fields }) => {
    const entries = fields[list];
    if (!Array.isArray(entries)) return [];
    return entries.filter(isRecord).map((entry) => ({ name: entry.name, entry, folder: dirname(path) }));
  });

/** Finds an entry by its name. */
function named(config: Config, list: string, field: string, name: string): Part {
  const entries = entriesOf(config, list);
  const found = entries.find((each) => each.name === name);
  const fields: unknown = found ? (found.entry[field] ?? {}) : undefined;
  if (found && isRecord(fields)) return { fields, folder: found.folder };
  const names = entries.map((each) => each.name).filter((each) => typeof each === 'string');
  const near = nearest(name, names);
  const help = near === undefined ? `existing names: ${names.join(', ') || 'none'}` : `did you mean "${near}"?`;
  throw new ConfigError(`${config.label} has no ${field} "${name}" in ${list}; ${help}`);
}

function select(config: Config, wanted: string | undefined): Selected {
  const current = wanted ?? config.files.map(({ fields }) => text(fields, 'current-context')).find(Boolean);
  if (current === undefined)
    throw new ConfigError(`${config.label} has no current-context; set a context with kubectl config use-context`);
  const { fields: context } = named(config, 'contexts', 'context', current);
  const clusterName = text(context, 'cluster');
  if (clusterName === undefined)
    throw new ConfigError(`${config.label}: context "${current}" refers to a cluster that is not in the kubeconfig`);
  const userName = text(context, 'user');
  return {
    cluster: named(config, 'clusters', 'cluster', clusterName),
    user: userName === undefined ? { fields: {}, folder: '' } : named(config, 'users', 'user', userName),
    namespace: text(context, 'namespace'),
  };
}

/**
 * Reads a PEM text from the field `<name>-data` (base64), or from a file. The field `<name>` contains the path of the
 * file, relative to the kubeconfig.
 */
async function pem({ fields, folder }: Part, name: string, { label, readText }: Config): Promise<Pem | undefined> {
  const data = text(fields, `${name}-data`);
  if (data !== undefined)
    return { text: Buffer.from(data, 'base64').toString('utf8'), from: `${name}-data of ${label}` };
  const file = text(fields, name);
  if (file === undefined) return undefined;
  const path = resolve(folder, file);
  try {
    return { text: await readText(path), from: path };
  } catch (error) {
    throw new ConfigError(`${label}: ${name} ${file} cannot be read`, { cause: error });
  }
}

async function clientCertificate(user: Part, config: Config) {
  const [certificate, key] = [await pem(user, 'client-certificate', config), await pem(user, 'client-key', config)];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new ConfigError(
      `${config.label}: contains only one of client-certificate and client-key; add the other field`,
    );
  }
  mustFit(certificate, key);
  return { pair: { certificate: certificate.text, key: key.text }, from: certificate.from };
}

function staticAuthorization({ fields: user, folder }: Part, clock: Clock): Partial<ClusterConfig> {
  const file = text(user, 'tokenFile');
  if (file !== undefined) return tokenFile(resolve(folder, file), clock);
  const token = text(user, 'token');
  const username = text(user, 'username');
  const basic =
    username === undefined ? undefined : Buffer.from(`${username}:${text(user, 'password') ?? ''}`).toString('base64');
  const header = token === undefined ? basic && `Basic ${basic}` : `Bearer ${token}`;
  return header === undefined ? {} : { authorization: async () => header };
}

function placeOfAuthorization({ fields: user, folder }: Part, label: string): string {
  const file = text(user, 'tokenFile');
  return file === undefined ? `the user of ${label}` : resolve(folder, file);
}

const OUTSIDE: readonly (readonly ['cluster' | 'user', string, string])[] = [
  ['cluster', 'certificate-authority', 'certificate-authority-data'],
  ['user', 'client-certificate', 'client-certificate-data'],
  ['user', 'client-key', 'client-key-data'],
  ['user', 'tokenFile', 'token'],
  ['user', 'exec', 'token'],
  ['user', 'auth-provider', 'token'],
];

/**
 * If a kubeconfig comes from an API object, refuses files and programs in it. Otherwise, the author of the object could
 * read files of this process.
 */
function mustBeComplete(selected: Selected, label: string): void {
  for (const [part, field, instead] of OUTSIDE) {
    if (selected[part].fields[field] !== undefined)
      throw new ConfigError(`${label}: ${part}.${field} is not allowed here; use ${instead}`);
  }
}

export interface KubeconfigOptions {
  readonly clock: Clock;
  readonly context: string | undefined;
  readonly readText: ReadText;
  readonly complete?: boolean;
}

/** @throws ConfigError */
export async function kubeconfigFiles(
  paths: readonly string[],
  { clock, context, readText, complete = false }: KubeconfigOptions,
): Promise<ClusterConfig> {
  const config = await read(paths, readText);
  const { label } = config;
  const selected = select(config, context);
  if (complete) mustBeComplete(selected, label);
  const { cluster, user, namespace } = selected;
  const server = text(cluster.fields, 'server');
  if (server === undefined || !/^https?:\/\//.test(server)) {
    throw new ConfigError(`${label}: cluster.server must be an http(s) URL, not ${JSON.stringify(server ?? '')}`);
  }
  for (const field of ['as', 'as-groups', 'as-uid', 'as-user-extra']) {
    if (user.fields[field] !== undefined)
      throw new ConfigError(`${label}: user.${field} (impersonation) is not supported; remove the field`);
  }
  const needsPlugin = user.fields.exec !== undefined || user.fields['auth-provider'] !== undefined;
  const ca = await pem(cluster, 'certificate-authority', config);
  if (ca !== undefined) mustBeCertificate(ca);
  const client = await clientCertificate(user, config);
  const tlsServerName = text(cluster.fields, 'tls-server-name');
  const proxyUrl = text(cluster.fields, 'proxy-url');
  if (proxyUrl !== undefined && !/^(https?|socks5):$/.test(URL.parse(proxyUrl)?.protocol ?? ''))
    throw new ConfigError(`${label}: cluster.proxy-url must be an http://, https:// or socks5:// URL`);
  const reached: ClusterConfig = {
    server,
    ca: ca?.text,
    tlsServerName,
    insecureSkipTlsVerify: cluster.fields['insecure-skip-tls-verify'] === true ? true : undefined,
    proxyUrl,
    namespace,
    clientCertificate: client?.pair,
    from: {
      ca: ca?.from,
      clientCertificate: client?.from,
      authorization: placeOfAuthorization(user, label),
    },
  };
  if (!needsPlugin) return { ...reached, ...staticAuthorization(user, clock) };
  return withPlugin(reached, { cluster: cluster.fields, user: user.fields, folder: user.folder, label }, clock);
}
