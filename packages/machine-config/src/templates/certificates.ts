import { X509Certificate } from 'node:crypto';
import type { ControllerConfig, ControllerConfigStatus } from '../kinds/controller-config.ts';

/** A certificate as the status of the ControllerConfig tells it. */
type Told = NonNullable<ControllerConfigStatus['controllerCertificates']>[number];

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

const FIELDS = [
  ['KubeAPIServerServingCAData', 'kubeAPIServerServingCAData'],
  ['CloudProviderCAData', 'cloudProviderCAData'],
  ['RootCAData', 'rootCAData'],
  ['AdditionalTrustBundle', 'additionalTrustBundle'],
] as const;

/** The API keeps times to the second. */
const timeOf = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

function certificatesIn(bundleFile: string, base64: string): readonly Told[] {
  const pem = Buffer.from(base64, 'base64').toString('utf8');
  return [...pem.matchAll(PEM)].flatMap(([text]) => {
    const certificate = parsed(text);
    if (!certificate) return [];
    const { subject, issuer, validFromDate, validToDate } = certificate;
    const times = { notBefore: timeOf(validFromDate), notAfter: timeOf(validToDate) };
    return [{ bundleFile, subject: oneLine(subject), signer: oneLine(issuer), ...times }];
  });
}

const oneLine = (name: string | undefined): string => (name ?? '').split('\n').join(',');

/** What looks like a certificate and is none goes to the nodes as it is, and has no dates to tell. */
function parsed(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

/** The certificates that the controller hands to nodes, in the order of the fields and files that hold them. */
export function certificatesOf({ spec = {} }: ControllerConfig): readonly Told[] {
  const own = FIELDS.flatMap(([name, field]) => certificatesIn(name, spec[field] ?? ''));
  const bundles = [...(spec.imageRegistryBundleUserData ?? []), ...(spec.imageRegistryBundleData ?? [])];
  return [...own, ...bundles.flatMap(({ file, data }) => certificatesIn(file, data ?? ''))];
}
