import { X509Certificate } from 'node:crypto';
import { formatTime } from '@mcm/api';
import type { ControllerConfig, ControllerConfigStatus } from '../kinds/controller-config.ts';

type Reported = NonNullable<ControllerConfigStatus['controllerCertificates']>[number];

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

const FIELDS = [
  ['KubeAPIServerServingCAData', 'kubeAPIServerServingCAData'],
  ['CloudProviderCAData', 'cloudProviderCAData'],
  ['RootCAData', 'rootCAData'],
  ['AdditionalTrustBundle', 'additionalTrustBundle'],
] as const;

function certificatesIn(bundleFile: string, base64: string): readonly Reported[] {
  const pem = Buffer.from(base64, 'base64').toString('utf8');
  return [...pem.matchAll(PEM)].flatMap(([text]) => {
    const certificate = parsed(text);
    if (!certificate) return [];
    const { subject, issuer, validFromDate, validToDate } = certificate;
    const times = { notBefore: formatTime(validFromDate), notAfter: formatTime(validToDate) };
    return [{ bundleFile, subject: oneLine(subject), signer: oneLine(issuer), ...times }];
  });
}

const oneLine = (name: string | undefined): string => (name ?? '').split('\n').join(',');

/**
 * Parses a certificate, or returns undefined for an invalid certificate. Nodes also get the invalid certificate, but
 * its dates are unknown.
 */
function parsed(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

/** Returns the certificates of a ControllerConfig, in the order of their fields and files. */
export function certificatesOf({ spec = {} }: ControllerConfig): readonly Reported[] {
  const own = FIELDS.flatMap(([name, field]) => certificatesIn(name, spec[field] ?? ''));
  const bundles = [...(spec.imageRegistryBundleUserData ?? []), ...(spec.imageRegistryBundleData ?? [])];
  return [...own, ...bundles.flatMap(({ file, data }) => certificatesIn(file, data ?? ''))];
}
