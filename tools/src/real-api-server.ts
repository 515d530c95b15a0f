import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock, sleep } from '@mcm/kube';

export interface RealApiServer {
  readonly url: string;
  readonly kubeconfig: string;
  readonly auditLog: string;
  stop(): Promise<void>;
}

/** The time limit of a start is shorter than that of a test hook, so that a test can report the end of the log. */
const START_MS = 150_000;
/** An attempt fails if another program takes a port that was free before. */
const STARTS = 3;
const LOOK_EVERY_MS = 200;
const AUDIT_POLICY = [
  'apiVersion: audit.k8s.io/v1',
  'kind: Policy',
  'omitStages: [RequestReceived, ResponseStarted]',
  'rules: [{level: Metadata}]',
].join('\n');

/** Finds free ports, because etcd does not accept 0 as its port. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  return servers.map((server) => {
    const address = server.address();
    server.close();
    return address !== null && typeof address === 'object' ? address.port : 0;
  });
}

const isReady = (url: string, token: string): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const request = get(`${url}/readyz`, { headers, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });

export interface RealApiServerOptions {
  /** Whether `kube-controller-manager` also runs, if the folder contains it. */
  readonly controllers?: boolean;
  readonly serviceCidr?: string;
}

/**
 * Starts the programs in a folder with the layout of `KUBEBUILDER_ASSETS`: `etcd`, `kube-apiserver` and, if it exists,
 * `kube-controller-manager`.
 */
export async function startRealApiServer(assets: string, options: RealApiServerOptions = {}): Promise<RealApiServer> {
  const end = Date.now() + START_MS;
  for (let starts = 1; ; starts += 1)
    try {
      return await startOnce(assets, end, options);
    } catch (error) {
      if (starts === STARTS || !/address already in use/.test(String(error))) throw error;
    }
}

interface Child {
  readonly name: string;
  readonly child: ChildProcess;
}

const etcdFlags = (dir: string, etcd: string, peer: string): readonly string[] => [
  `--data-dir=${join(dir, 'etcd')}`,
  `--listen-client-urls=${etcd}`,
  `--advertise-client-urls=${etcd}`,
  `--listen-peer-urls=${peer}`,
  `--initial-cluster=default=${peer}`,
  `--initial-advertise-peer-urls=${peer}`,
  '--unsafe-no-fsync',
];

interface ApiServerFiles {
  readonly dir: string;
  readonly etcd: string;
  readonly port: number;
  readonly key: string;
  readonly tokens: string;
  readonly serviceCidr: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
}

const apiServerFlags = ({
  dir,
  etcd,
  port,
  key,
  tokens,
  serviceCidr,
  auditPolicy,
  auditLog,
}: ApiServerFiles): readonly string[] => [
  `--etcd-servers=${etcd}`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  `--cert-dir=${join(dir, 'certs')}`,
  `--service-account-key-file=${key}`,
  `--service-account-signing-key-file=${key}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  `--token-auth-file=${tokens}`,
  '--authorization-mode=Node,RBAC',
  '--enable-bootstrap-token-auth',
  `--service-cluster-ip-range=${serviceCidr}`,
  '--allow-privileged=true',
  `--audit-policy-file=${auditPolicy}`,
  `--audit-log-path=${auditLog}`,
];

/**
 * Waits until the API server is ready.
 * @throws Error with the end of the log, if a program ended or is too slow.
 */
async function untilReady(
  assets: string,
  dir: string,
  children: readonly Child[],
  ready: () => Promise<boolean>,
  end: number,
): Promise<void> {
  while (!(await ready())) {
    const ended = children.find(({ child }) => child.exitCode !== null);
    if (ended || Date.now() > end) {
      const name = ended?.name ?? 'kube-apiserver';
      const log = readFileSync(join(dir, `${name}.log`), 'utf8').slice(-2_000);
      const what = ended ? `ended with ${ended.child.exitCode}` : `is not ready after ${START_MS / 1000} s`;
      throw new Error(`${join(assets, name)} ${what}: ${log}`);
    }
    await sleep(realClock, LOOK_EVERY_MS);
  }
}

function kubeconfigOf(dir: string, url: string, token: string): string {
  // The certificate is self-signed, so its file contains its CA.
  const authority = readFileSync(join(dir, 'certs', 'apiserver.crt')).toString('base64');
  return `apiVersion: v1
kind: Config
clusters: [{name: real, cluster: {server: "${url}", certificate-authority-data: ${authority}}}]
users: [{name: admin, user: {token: ${token}}}]
contexts: [{name: real, context: {cluster: real, user: admin}}]
current-context: real
`;
}

async function startOnce(
  assets: string,
  end: number,
  { controllers = true, serviceCidr = '10.0.0.0/24' }: RealApiServerOptions,
): Promise<RealApiServer> {
  const dir = mkdtempSync(join(tmpdir(), 'mcm real api server '));
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const [etcdPort = 0, peerPort = 0, port = 0] = await freePorts(3);
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const url = `https://127.0.0.1:${port}`;
  const token = randomBytes(16).toString('hex');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = file('service-accounts.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const auditLog = join(dir, 'audit.log');

  const children: Child[] = [];
  const start = (name: string, args: readonly string[]): void => {
    const log = openSync(join(dir, `${name}.log`), 'w');
    children.push({ name, child: spawn(join(assets, name), args, { stdio: ['ignore', log, log] }) });
  };
  const stop = async (): Promise<void> => {
    for (const { child } of children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      // The data is deleted after the run, so the programs can be killed.
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(dir, { recursive: true, force: true });
  };
  start('etcd', etcdFlags(dir, etcd, peer));
  const tokens = file('tokens.csv', `${token},admin,admin,"system:masters"\n`);
  const auditPolicy = file('audit-policy.yaml', AUDIT_POLICY);
  start('kube-apiserver', apiServerFlags({ dir, etcd, port, key, tokens, serviceCidr, auditPolicy, auditLog }));
  await untilReady(assets, dir, children, () => isReady(url, token), end).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const kubeconfig = kubeconfigOf(dir, url, token);
  if (controllers && existsSync(join(assets, 'kube-controller-manager')))
    start('kube-controller-manager', [
      `--kubeconfig=${file('kubeconfig', kubeconfig)}`,
      '--leader-elect=false',
      '--secure-port=0',
      `--service-account-private-key-file=${key}`,
      '--controllers=*,bootstrap-signer-controller,token-cleaner-controller',
    ]);
  return { url, kubeconfig, auditLog, stop };
}
