import type { Clock } from '../clock.ts';
import type { CertificateAuthority, Leaf } from './authority.ts';
import { readSigningRequest, type SigningRequest } from './signing-request.ts';

/** Of `spec` of a CertificateSigningRequest, what signing looks at. */
export interface RequestSpec {
  /** Base64 of PEM. */
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number | undefined;
}

/** Signs what was approved. */
export interface Signer {
  /** Whether it signs for this name. */
  serves(signerName: string): boolean;
  /** PEM. @throws RefusedRequest when the request is not what its signer signs */
  sign(spec: RequestSpec): string;
}

/** The request breaks the rules of its signer. The message says which. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
}

export const CLIENT = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';
const LEGACY = 'kubernetes.io/legacy-unknown';

export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';

/** What certificates live when the request does not say, and at most (`--cluster-signing-duration`). */
const DEFAULT_SECONDS = 365 * 24 * 60 * 60;
const SHORTEST_SECONDS = 600;
/** Clocks of clients may be a little behind. */
const BACKDATE_MS = 5 * 60 * 1000;

function refuse(broken: boolean, why: string): void {
  if (broken) throw new RefusedRequest(why);
}

/** Exactly the usages of its trade, key encipherment being free to choose. */
const hasUsages = (usages: readonly string[], purpose: string): boolean =>
  ['digital signature', purpose].every((usage) => usages.includes(usage)) &&
  usages.every((usage) => ['digital signature', 'key encipherment', purpose].includes(usage));

function checkNode({ organizations, commonName, emails, uris }: SigningRequest): void {
  refuse(organizations.join() !== NODES_GROUP, `subject organization is not ${NODES_GROUP}`);
  refuse(!commonName.startsWith(NODE_USER_PREFIX), `subject common name does not begin with ${NODE_USER_PREFIX}`);
  refuse(emails.length > 0, 'Email subjectAltNames are not allowed');
  refuse(uris.length > 0, 'URI subjectAltNames are not allowed');
}

/** Whether a request is for the client certificate of a kubelet. @throws RefusedRequest that says why it is not */
export function checkKubeletClient(request: SigningRequest, usages: readonly string[]): void {
  checkNode(request);
  refuse(request.dnsNames.length > 0, 'DNS subjectAltNames are not allowed');
  refuse(request.ipAddresses.length > 0, 'IP subjectAltNames are not allowed');
  refuse(!hasUsages(usages, 'client auth'), 'usages did not match [key encipherment,digital signature,client auth]');
}

function checkKubeletServing(request: SigningRequest, usages: readonly string[]): void {
  checkNode(request);
  const named = request.dnsNames.length + request.ipAddresses.length > 0;
  refuse(!named, 'DNS or IP subjectAltName is required');
  refuse(!hasUsages(usages, 'server auth'), 'usages did not match [key encipherment,digital signature,server auth]');
}

function checkClient(_request: SigningRequest, usages: readonly string[]): void {
  const allowed = ['signing', 'digital signature', 'key encipherment', 'client auth'];
  refuse(!usages.includes('client auth'), 'usages must include "client auth"');
  refuse(
    usages.some((usage) => !allowed.includes(usage)),
    `usages must be among ${allowed.map((usage) => JSON.stringify(usage)).join(', ')}`,
  );
}

/** The rules of each signer (kubernetes pkg/controller/certificates/signer). */
const CHECKS: Readonly<Record<string, (request: SigningRequest, usages: readonly string[]) => void>> = {
  [CLIENT]: checkClient,
  [KUBELET_CLIENT]: checkKubeletClient,
  [KUBELET_SERVING]: checkKubeletServing,
  [LEGACY]: () => undefined,
};

const KEY_USAGES: Readonly<Record<string, Leaf['keyUsages'][number]>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'key encipherment': 'keyEncipherment',
};

const EXTENDED_KEY_USAGES: Readonly<Record<string, Leaf['extendedKeyUsages'][number]>> = {
  'server auth': 'serverAuth',
  'client auth': 'clientAuth',
};

const pick = <T>(usages: readonly string[], table: Readonly<Record<string, T>>): T[] => [
  ...new Set(usages.map((usage) => table[usage]).filter((usage) => usage !== undefined)),
];

/** A signer of the cluster's own signer names. `authority` is asked for at the first signature. */
export function createSigner(authority: () => CertificateAuthority, clock: Clock): Signer {
  return {
    serves: (signerName) => Object.hasOwn(CHECKS, signerName),
    sign({ request: text, signerName, usages, expirationSeconds }) {
      const check = CHECKS[signerName];
      if (check === undefined)
        throw new RefusedRequest(`signer ${JSON.stringify(signerName)} is none of the cluster's`);
      const request = readSigningRequest(text);
      check(request, usages);
      const now = clock.now().getTime();
      const seconds = Math.max(SHORTEST_SECONDS, Math.min(expirationSeconds ?? DEFAULT_SECONDS, DEFAULT_SECONDS));
      return authority().issue({
        subject: { commonName: request.commonName, organizations: request.organizations },
        publicKey: request.publicKey,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter: new Date(now + seconds * 1000),
        keyUsages: pick(usages, KEY_USAGES),
        extendedKeyUsages: pick(usages, EXTENDED_KEY_USAGES),
        hosts: [...request.dnsNames, ...request.ipAddresses],
      });
    },
  };
}
