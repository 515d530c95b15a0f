import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './sources.ts';
import { GENERATED, table } from './text/markdown.ts';

/** For each third-party dependency of a published package, the reason why it is needed. */
const WHY: Readonly<Record<string, string>> = {
  '@aws-sdk/client-ec2':
    'signs and sends the requests to EC2 ([decision 13](../decisions/0013-aws-with-its-sdk.md)); used only by the AWS machine controller',
  '@aws-sdk/client-sqs': 'reads the events about interruptions from SQS; used only by the AWS machine controller',
  '@aws-sdk/client-sts': 'requests credentials for workload identity from STS; used only by the AWS machine controller',
  '@azure-rest/core-client':
    'sends the requests to Resource Manager that the other Azure libraries cannot send; used only by the Azure machine controller',
  '@azure/arm-compute':
    'sends the requests for VMs, disks and images to Azure ([decision 14](../decisions/0014-azure-with-its-sdk.md)); used only by the Azure machine controller',
  '@azure/arm-network': 'sends the requests for NICs and subnets to Azure',
  '@azure/arm-resourcegraph': 'lists the VMs, NICs and disks with queries of Resource Graph',
  '@azure/core-rest-pipeline':
    'creates the empty request pipeline that replaces the default pipeline of the Azure clients',
  '@google-cloud/compute':
    'sends the requests to Compute Engine ([decision 16](../decisions/0016-gcp-with-its-sdk.md)); used only by the GCP machine controller',
  '@grpc/grpc-js': 'contains the gRPC server for the cluster autoscaler; loaded only with `--autoscaler-port`',
  '@grpc/proto-loader': 'encodes the messages of the gRPC server',
  '@hono/node-server': 'serves `hono` over Node’s sockets; used only by the local cloud',
  '@kubernetes/client-node':
    'supports kubeconfigs with the auth-providers `azure`, `gcp` and `oidc`; loaded only for such kubeconfigs',
  '@peculiar/x509': 'creates the self-signed certificates of webhooks, metrics and the config server',
  commander: 'parses the flags and commands',
  '@marcbachmann/cel-js':
    'evaluates the CEL conditions of hooks in the machine controllers ([decision 2](../decisions/0002-own-cel.md))',
  croner: 'computes the cron schedules of rollout windows; used only by the machine-controller-manager',
  'google-gax': 'contains the runtime of the clients of `@google-cloud/compute`',
  hono: 'defines the HTTP routes of the local cloud',
  liquidjs: 'renders the templates of machine configs, without access to code or files',
  pino: 'writes the logs as JSON lines',
  'prom-client': 'writes metrics in the formats of Prometheus',
  'reflect-metadata': 'provides the metadata functions that `@peculiar/x509` loads at its start',
  undici: 'sends HTTPS requests to API servers and clouds; supports connection pools, proxies and aborts',
  re2js: 'evaluates the regular expressions of schemas and CEL in linear time, with the semantics of Go',
  yaml: 'parses manifests, kubeconfigs and configuration files; errors contain the line',
  zod: 'validates all external input, and produces the JSON Schemas of the CRDs',
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly snapshots: Readonly<
    Record<
      string,
      | {
          readonly dependencies?: Readonly<Record<string, string>>;
          readonly optionalDependencies?: Readonly<Record<string, string>>;
        }
      | null
      | undefined
    >
  >;
}

const readManifest = (path: string): Manifest => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest;

/** Returns the direct and indirect dependencies of a package. */
function broughtBy(key: string, { snapshots }: Lock, found = new Set<string>()): ReadonlySet<string> {
  const full = Object.keys(snapshots).find((each) => each === key || each.startsWith(`${key}(`));
  if (full === undefined) throw new Error(`pnpm-lock.yaml has no ${key}: run pnpm install`);
  const { dependencies = {}, optionalDependencies = {} } = snapshots[full] ?? {};
  for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies })) {
    const one = `${name}@${version}`;
    if (found.has(one)) continue;
    found.add(one);
    broughtBy(one, { snapshots }, found);
  }
  return found;
}

/** Generates the page about third-party dependencies. */
export function dependencyReferenceFiles(): ReadonlyMap<string, string> {
  const lock = parse(readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8')) as Lock;
  const users = new Map<string, string[]>();
  const found = new Map<string, Manifest>();
  for (const path of globSync('{packages,apps,providers}/*/package.json', { cwd: ROOT }).toSorted()) {
    const { name: user, private: hidden, dependencies = {} } = readManifest(path);
    if (hidden === true) continue;
    for (const name of Object.keys(dependencies).filter((one) => !one.startsWith('@mcm/'))) {
      users.set(name, [...(users.get(name) ?? []), `\`${user.replace('@mcm/', '')}\``]);
      found.set(name, readManifest(join(dirname(path), 'node_modules', name, 'package.json')));
    }
  }
  const unexplained = [...found.keys()].filter((name) => WHY[name] === undefined);
  const gone = Object.keys(WHY).filter((name) => !found.has(name));
  if (unexplained.length > 0)
    throw new Error(`dependency-reference.ts has no reason for the package ${unexplained.join(', ')}`);
  if (gone.length > 0)
    throw new Error(`dependency-reference.ts explains packages that are not dependencies: ${gone.join(', ')}`);
  const rows = [...found].toSorted().map(([name, manifest]) => {
    const brought = broughtBy(`${name}@${manifest.version}`, lock).size;
    return [
      ...[`\`${name}\``, manifest.version, manifest.license ?? '', String(brought)],
      ...[(users.get(name) ?? []).join(', '), WHY[name] ?? ''],
    ];
  });
  const text = [
    GENERATED,
    '# Third-party packages\n',
    'This page lists the dependencies of the published packages, with the versions of the lock file. The page is for users who review the supply chain.',
    'The bill of materials of a program lists the included packages',
    '(`sbom.cdx.json`, [images](../images.md)). The [security policy](../../SECURITY.md#dependencies) describes how the dependencies are selected and maintained.\n',
    table(['Package', 'Version', 'License', 'Indirect', 'Used by', 'Why'], rows),
    '',
  ].join('\n');
  return new Map([['docs/reference/dependencies.md', text]]);
}
