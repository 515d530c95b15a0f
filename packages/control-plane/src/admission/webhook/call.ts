import { posix } from 'node:path';
import { stringifyJson } from '../../apimachinery/objects/json.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { type Status, StatusError } from '../../apimachinery/objects/status.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import { describeRequest, presented } from '../matching/request.ts';
import type { Hook } from './hook.ts';
import { readReply, type Verdict, WebhookFailure } from './reply.ts';
import type { WebhookTransport } from './transport.ts';

const GROUP = 'admission.k8s.io';

/** Joins a path with the root, as the HTTP client of Go does. */
const joined = (path: string): string => posix.join('/', path).replace(/(.)\/$/, '$1');

const hexOf = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const rejoined = (path: string): string =>
  joined(path.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))).replace(
    /[^\w\-.~$&+,/:;=@]/g,
    hexOf,
  );

/** Returns the URL of a webhook. For a Service, the result also contains the address of the connection. */
function locate(registry: Registry, hook: Hook): { url: URL; connectTo?: { host: string; port: number } } {
  const { url, service } = hook.clientConfig;
  if (service === undefined) {
    const address = new URL(url ?? '');
    address.pathname = rejoined(address.pathname);
    return { url: address };
  }
  const { namespace, name, path = '', port = 443 } = service;
  const address = new URL(`https://${name}.${namespace}.svc:${port}${joined(path)}`);
  address.searchParams.set('timeout', timeoutOf(hook));
  const record = registry.store.get('/services', namespace, name);
  if (record === undefined) throw new WebhookFailure(post(address, `service ${JSON.stringify(name)} not found`));
  const { spec = {} } = JSON.parse(record.json) as {
    spec?: { clusterIP?: string; type?: string; externalName?: string; ports?: readonly { port: number }[] };
  };
  if (spec.type === 'ExternalName') return { url: address, connectTo: { host: spec.externalName ?? '', port } };
  const host = spec.clusterIP ?? '';
  if (host === '' || host === 'None') {
    throw new WebhookFailure(post(address, `cannot route to service with ClusterIP ${JSON.stringify(host)}`));
  }
  if (spec.ports?.some((one) => one.port === port) !== true) {
    const why = `no service port ${port} found for service ${JSON.stringify(name)}`;
    throw new WebhookFailure(post(address, why));
  }
  return { url: address, connectTo: { host, port } };
}

const timeoutOf = ({ timeoutSeconds }: Hook): string => `${timeoutSeconds}s`;

const post = (url: URL, why: string): string => `failed to call webhook: Post ${JSON.stringify(hrefOf(url))}: ${why}`;

/** Formats the URL as kube-apiserver does: the URL of a service always contains the port. */
const hrefOf = (url: URL): string => {
  const name = url.hostname.endsWith('.svc') && url.port === '' ? `${url.origin}:443` : url.origin;
  return `${name}${url.pathname}${url.search}`;
};

function render(attributes: AdmissionAttributes, hook: Hook, as: ServedKind, uid: string): string {
  const { object, old } = attributes;
  const { dryRun, options, ...request } = describeRequest(attributes, as, uid);
  return stringifyJson({
    kind: 'AdmissionReview',
    apiVersion: `${GROUP}/${hook.version}`,
    request: {
      ...request,
      object: presented(object, as, attributes),
      oldObject: presented(old, as, attributes),
      dryRun,
      options,
    },
  });
}

/**
 * @param mutates whether the response may contain a patch
 * @throws WebhookFailure
 */
export async function callWebhook(
  registry: Registry,
  transport: WebhookTransport,
  hook: Hook,
  as: ServedKind,
  attributes: AdmissionAttributes,
  mutates: boolean,
): Promise<Verdict> {
  const uid = registry.uid();
  const { url, connectTo } = locate(registry, hook);
  url.searchParams.set('timeout', timeoutOf(hook));
  const { caBundle } = hook.clientConfig;
  const aborted = new AbortController();
  const timer = registry.clock.setTimeout(() => aborted.abort(), hook.timeoutSeconds * 1000);
  try {
    const reply = await transport({
      url,
      connectTo,
      caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('utf8'),
      body: render(attributes, hook, as, uid),
      signal: aborted.signal,
    });
    return readReply(reply, { version: hook.version, uid, mutates });
  } catch (error) {
    if (error instanceof WebhookFailure) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new WebhookFailure(post(url, aborted.signal.aborted ? 'context deadline exceeded' : why));
  } finally {
    timer.cancel();
  }
}

export function refusalOf({ name }: Hook, status: Partial<Status> = {}): StatusError {
  const { message = '', reason = '', code = 0, details, metadata } = status;
  const why = message !== '' ? `: ${message}` : reason !== '' ? `: ${reason}` : ' without explanation';
  const refusal = new StatusError(
    defined({
      message: `admission webhook ${JSON.stringify(name)} denied the request${why}`,
      reason: reason || undefined,
      details,
      // A webhook may refuse a request with a status code below 400. Such a code would mean success, so the server
      // sends 400.
      code: Math.max(code, 400),
    }),
  );
  refusal.status.metadata = metadata ?? {};
  return refusal;
}

export function failureOf({ name }: Hook, { message }: WebhookFailure): StatusError {
  const why = `failed calling webhook ${JSON.stringify(name)}: ${message}`;
  return new StatusError({
    message: `Internal error occurred: ${why}`,
    reason: 'InternalError',
    details: { causes: [{ message: why }] },
    code: 500,
  });
}
