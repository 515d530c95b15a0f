import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { withoutUndefined } from '../base/defined.ts';
import type { Clock } from '../clock/clock.ts';
import { isRecord } from '../contract/json-values.ts';
import { type ClusterConfig, ConfigError } from './cluster-config.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Given {
  readonly authorization: string | undefined;
  readonly clientCertificate: ClusterConfig['clientCertificate'];
}

interface Plugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const EXTENSION = 'client.authentication.k8s.io/exec';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * Reads `user.exec` of a kubeconfig.
 * @param name the name of the plugin for error messages.
 * @param folder the folder of the kubeconfig, for a relative path of the command.
 */
export function readPlugin(
  exec: Fields,
  cluster: Fields,
  ca: string | undefined,
  { name, folder }: { readonly name: string; readonly folder: string },
): Plugin {
  const { command, args, env, apiVersion = VERSIONS[0], interactiveMode, installHint } = exec;
  if (!isText(command)) throw new ConfigError(`${name}: exec.command is missing; set the path of the program`);
  if (!VERSIONS.includes(String(apiVersion)))
    throw new ConfigError(
      `${name}: exec.apiVersion is ${String(apiVersion)}; set exec.apiVersion to ${VERSIONS.join(' or ')}`,
    );
  if (interactiveMode === 'Always')
    throw new ConfigError(
      `${name}: exec.interactiveMode is Always, but this process has no terminal; set IfAvailable or Never`,
    );
  const reported = exec.provideClusterInfo === true ? { cluster: clusterInfo(cluster, ca) } : {};
  const info = { apiVersion, kind: 'ExecCredential', spec: { ...reported, interactive: false } };
  const own = list(env).flatMap((each) =>
    isRecord(each) && isText(each.name) ? [[each.name, String(each.value ?? '')] as const] : [],
  );
  return {
    command: command.includes('/') ? resolve(folder, command) : command,
    args: list(args).map(String),
    env: { ...Object.fromEntries(own), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    installHint: isText(installHint) ? installHint.trim() : '',
  };
}

function clusterInfo(cluster: Fields, ca: string | undefined): Fields {
  const known = ['server', 'tls-server-name', 'insecure-skip-tls-verify', 'proxy-url'].flatMap((name) =>
    cluster[name] === undefined ? [] : [[name, cluster[name]] as const],
  );
  const own = list(cluster.extensions).find((each) => isRecord(each) && each.name === EXTENSION);
  return {
    ...Object.fromEntries(known),
    ...withoutUndefined({
      'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
      config: isRecord(own) ? own.extension : undefined,
    }),
  };
}

/** Returns a function that provides the credentials of the plugin. */
export function execAsker(plugin: Plugin, clock: Clock): () => Promise<Given> {
  let kept: { readonly given: Given; readonly until: number } | undefined;
  return async () => {
    if (kept && kept.until > clock.now().getTime()) return kept.given;
    kept = read(await run(plugin, clock));
    return kept.given;
  };
}

/**
 * The maximum run time of a plugin. All requests share one run, so without a limit, a hanging plugin would block the
 * process forever. The limit is long, because a user may have to log in with a browser.
 */
const MOST_MS = 300_000;

/** Runs the plugin and returns its output. */
function run({ command, args, env, installHint }: Plugin, clock: Clock): Promise<string> {
  return new Promise((done, fail) => {
    // The plugin has no standard input, because it could wait for input forever.
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    // The run ends immediately, because a program that the plugin has started can keep its output open.
    const limit = clock.setTimeout(() => {
      fail(new Error(`the program did not end within ${MOST_MS / 60_000} minutes`));
      child.kill('SIGKILL');
    }, MOST_MS);
    let [answer, said] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    child.once('error', (error) => {
      limit.cancel();
      const isMissing = 'code' in error && error.code === 'ENOENT' && installHint !== '';
      fail(isMissing ? new Error(`${error.message}; ${installHint}`) : error);
    });
    child.once('close', (code, signal) => {
      limit.cancel();
      if (code === 0) done(answer);
      else fail(new Error(said.trim() || `the program exited with ${code ?? signal}`));
    });
  });
}

function read(answer: string): { readonly given: Given; readonly until: number } {
  const value: unknown = JSON.parse(answer);
  const status = isRecord(value) && isRecord(value.status) ? value.status : {};
  const { token, clientCertificateData: certificate, clientKeyData: key, expirationTimestamp } = status;
  if (!isText(token) && !(isText(certificate) && isText(key)))
    throw new Error(
      'the output contains no status.token and no status.clientCertificateData with status.clientKeyData',
    );
  const until = isText(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(until)) throw new Error('status.expirationTimestamp in the output is not a date');
  return {
    given: {
      authorization: isText(token) ? `Bearer ${token}` : undefined,
      clientCertificate: isText(certificate) && isText(key) ? { certificate, key } : undefined,
    },
    until,
  };
}
