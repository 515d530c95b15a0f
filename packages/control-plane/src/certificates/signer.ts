import type { Clock } from '../apimachinery/objects/clock.ts';
import type { CertificateAuthority, ExtendedKeyUsage, KeyUsage } from './authority.ts';
import { readSigningRequest, type SigningRequest } from './signing-request.ts';

export interface RequestSpec {
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number | undefined;
}

/** Signs approved requests. */
export interface Signer {
  serves(signerName: string): boolean;
  /**
   * Returns the certificate as PEM.
   * @throws RefusedRequest if the request violates a rule of its signer
   */
  sign(spec: RequestSpec): string;
}

export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
}

const CLIENT = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';
const LEGACY = 'kubernetes.io/legacy-unknown';

const NODES_GROUP = 'system:nodes';
const NODE_USER_PREFIX = 'system:node:';

const DEFAULT_SECONDS = 365 * 24 * 60 * 60;
const SHORTEST_SECONDS = 600;
/**
 * The validity of a certificate starts five minutes before the signer signs it, because the clock of a client may be
 * slow.
 */
const BACKDATE_MS = 5 * 60 * 1000;
/**
 * If the lifetime of a certificate is shorter than this time, the validity starts when the signer signs the
 * certificate.
 */
const SHORT_MS = 8 * 60 * 60 * 1000;

function refuse(broken: boolean, why: string): void {
  if (broken) throw new RefusedRequest(why);
}

/** Returns whether the usages are exactly the allowed usages. Only key encipherment is optional. */
const hasUsages = (usages: readonly string[], purpose: string): boolean =>
  ['digital signature', purpose].every((usage) => usages.includes(usage)) &&
  usages.every((usage) => ['digital signature', 'key encipherment', purpose].includes(usage));

function checkGroup({ organizations }: SigningRequest): void {
  const isNode = organizations.length === 1 && organizations[0] === NODES_GROUP;
  refuse(!isNode, `subject organization is not ${NODES_GROUP}`);
}

function checkName({ commonName }: SigningRequest): void {
  refuse(!commonName.startsWith(NODE_USER_PREFIX), `subject common name does not begin with ${NODE_USER_PREFIX}`);
}

const NO_EMAIL = 'Email subjectAltNames are not allowed';
const NO_URI = 'URI subjectAltNames are not allowed';

/**
 * Checks that a request is for the client certificate of a kubelet.
 * @throws RefusedRequest with the first reason, in the order of kube-controller-manager
 */
export function checkKubeletClient(request: SigningRequest, usages: readonly string[]): void {
  checkGroup(request);
  refuse(request.dnsNames.length > 0, 'DNS subjectAltNames are not allowed');
  refuse(request.emails.length > 0, NO_EMAIL);
  refuse(request.ipAddresses.length > 0, 'IP subjectAltNames are not allowed');
  refuse(request.uris.length > 0, NO_URI);
  checkName(request);
  refuse(!hasUsages(usages, 'client auth'), 'usages did not match [client auth digital signature key encipherment]');
}

function checkKubeletServing(request: SigningRequest, usages: readonly string[]): void {
  checkGroup(request);
  const named = request.dnsNames.length + request.ipAddresses.length > 0;
  refuse(!named, 'DNS or IP subjectAltName is required');
  refuse(request.emails.length > 0, NO_EMAIL);
  refuse(request.uris.length > 0, NO_URI);
  refuse(!hasUsages(usages, 'server auth'), 'usages did not match [digital signature key encipherment server auth]');
  checkName(request);
}

function checkClient(_request: SigningRequest, usages: readonly string[]): void {
  const allowed = ['digital signature', 'key encipherment', 'client auth'];
  const foreign = usages.find((usage) => !allowed.includes(usage));
  refuse(foreign !== undefined, `invalid usage for client certificate: ${foreign}`);
  refuse(!usages.includes('client auth'), 'missing required usage for client certificate: client auth');
}

const CHECKS: Readonly<Record<string, (request: SigningRequest, usages: readonly string[]) => void>> = {
  [CLIENT]: checkClient,
  [KUBELET_CLIENT]: checkKubeletClient,
  [KUBELET_SERVING]: checkKubeletServing,
  [LEGACY]: () => undefined,
};

const KEY_USAGES: Readonly<Record<string, KeyUsage>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'key agreement': 'keyAgreement',
  'data encipherment': 'dataEncipherment',
  'cert sign': 'keyCertSign',
  'crl sign': 'cRLSign',
  'encipher only': 'encipherOnly',
  'decipher only': 'decipherOnly',
};

const EXTENDED_KEY_USAGES: Readonly<Record<string, ExtendedKeyUsage>> = {
  any: 'any',
  'server auth': 'serverAuth',
  'client auth': 'clientAuth',
  'code signing': 'codeSigning',
  'email protection': 'emailProtection',
  's/mime': 'emailProtection',
  'ipsec end system': 'ipsecEndSystem',
  'ipsec tunnel': 'ipsecTunnel',
  'ipsec user': 'ipsecUser',
  timestamping: 'timeStamping',
  'ocsp signing': 'ocspSigning',
  'microsoft sgc': 'microsoftSgc',
  'netscape sgc': 'netscapeSgc',
};

const pick = <T>(usages: readonly string[], table: Readonly<Record<string, T>>): T[] => [
  ...new Set(
    Object.entries(table)
      .filter(([usage]) => usages.includes(usage))
      .map(([, value]) => value),
  ),
];

/**
 * Returns the expiry time of a certificate. The requested lifetime of a certificate is limited to the range from ten
 * minutes to a year.
 */
function endOf(now: number, seconds = DEFAULT_SECONDS): Date {
  const ms = Math.max(SHORTEST_SECONDS, Math.min(seconds, DEFAULT_SECONDS)) * 1000;
  return new Date(now + ms - (ms < SHORT_MS ? 0 : BACKDATE_MS));
}

export function createSigner(authority: () => CertificateAuthority, clock: Clock): Signer {
  return {
    serves: (signerName) => Object.hasOwn(CHECKS, signerName),
    sign({ request: text, signerName, usages, expirationSeconds }) {
      const check = CHECKS[signerName];
      if (check === undefined) throw new RefusedRequest(`the cluster has no signer ${JSON.stringify(signerName)}`);
      const request = readSigningRequest(text);
      check(request, usages);
      const now = clock.now().getTime();
      return authority().issue({
        subject: { commonName: request.commonName, organizations: request.organizations },
        publicKey: request.publicKey,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter: endOf(now, expirationSeconds),
        keyUsages: pick(usages, KEY_USAGES),
        extendedKeyUsages: pick(usages, EXTENDED_KEY_USAGES),
        hosts: [...request.dnsNames, ...request.ipAddresses],
        emails: request.emails,
        uris: request.uris,
      });
    },
  };
}
