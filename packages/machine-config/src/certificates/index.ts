export { CERTIFICATE_PATHS, isCertificatePath } from '../config/certificate-paths.ts';
export {
  type CertificatesNote,
  certificateFiles,
  certificatesConfigOf,
  certificatesName,
  certificatesOfPool,
  certificatesVersion,
  differOnlyByCertificates,
} from './bundle.ts';
