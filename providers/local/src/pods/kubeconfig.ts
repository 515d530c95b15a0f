import { MachineError } from '@mcm/core/driver';
import type { ClusterConfig } from '@mcm/kube';
import { parseDocument } from 'yaml';
import { z } from 'zod';

const kubeconfig = z.looseObject({
  'current-context': z.string().min(1),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string().optional() }) }),
  ),
  clusters: z.array(
    z.looseObject({
      name: z.string(),
      cluster: z.looseObject({
        server: z.url({ protocol: /^https?$/ }),
        'certificate-authority-data': z.base64().optional(),
        'tls-server-name': z.string().optional(),
        'insecure-skip-tls-verify': z.boolean().optional(),
      }),
    }),
  ),
  users: z
    .array(
      z.looseObject({
        name: z.string(),
        user: z.looseObject({
          token: z.string().optional(),
          'client-certificate-data': z.base64().optional(),
          'client-key-data': z.base64().optional(),
        }),
      }),
    )
    .optional(),
});

const FORBIDDEN_USER = ['exec', 'auth-provider', 'tokenFile', 'client-certificate', 'client-key'];
const FORBIDDEN_CLUSTER = ['certificate-authority', 'proxy-url'];

const wrong = (what: string): MachineError => new MachineError('InvalidArgument', `secret data.kubeconfig: ${what}`);

const pem = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

/**
 * Parses the kubeconfig in a Secret. The kubeconfig must not refer to programs or files. Errors never quote the
 * kubeconfig, because it may contain a key.
 * @throws MachineError `InvalidArgument` with the key and its requirement
 */
export function parseKubeconfig(text: string): ClusterConfig {
  const document = parseDocument(text, { prettyErrors: false });
  const [problem] = document.errors;
  if (problem) throw wrong(`is not YAML (${problem.code} at character ${problem.pos[0]})`);
  const parsed = kubeconfig.safeParse(document.toJS());
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => path.join('.') || 'all of it');
    throw wrong(`is not a kubeconfig; check ${[...new Set(fields)].join(', ')}`);
  }
  const { 'current-context': current, contexts, clusters, users = [] } = parsed.data;
  const context = contexts.find(({ name }) => name === current)?.context;
  if (!context) throw wrong('does not contain the context of current-context');
  const cluster = clusters.find(({ name }) => name === context.cluster)?.cluster;
  if (!cluster) throw wrong('does not contain the cluster of the current context');
  const user = users.find(({ name }) => name === context.user)?.user ?? {};
  refuse(FORBIDDEN_USER, user);
  refuse(FORBIDDEN_CLUSTER, cluster);
  const certificate = user['client-certificate-data'];
  const key = user['client-key-data'];
  if ((certificate === undefined) !== (key === undefined))
    throw wrong('contains only one of client-certificate-data and client-key-data; add the other field');
  const { server, 'certificate-authority-data': ca, 'tls-server-name': tlsServerName } = cluster;
  return {
    server: server.replace(/\/+$/, ''),
    ca: ca ? pem(ca) : undefined,
    tlsServerName: tlsServerName || undefined,
    insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'] ? true : undefined,
    clientCertificate: certificate && key ? { certificate: pem(certificate), key: pem(key) } : undefined,
    authorization: user.token ? async () => `Bearer ${user.token}` : undefined,
  };
}

function refuse(forbidden: readonly string[], fields: Readonly<Record<string, unknown>>): void {
  const found = forbidden.find((key) => fields[key] !== undefined);
  if (found) throw wrong(`must not contain ${found}: replace this field with the data or a token`);
}
