export {
  type CertificatesNote,
  certificateFiles,
  certificatesConfigOf,
  certificatesName,
  certificatesOfPool,
  certificatesVersion,
  differOnlyByCertificates,
} from './bundle.ts';
export { CERTIFICATE_PATHS, isCertificatePath } from './paths.ts';
