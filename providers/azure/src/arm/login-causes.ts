/** Source: https://learn.microsoft.com/entra/identity-platform/reference-error-codes */
const CAUSES: Readonly<Record<string, string>> = {
  AADSTS7000215: 'data.clientSecret is wrong; store the value of a client secret, not its ID',
  AADSTS7000222: 'data.clientSecret has expired; create a client secret and store its value',
  AADSTS7000112: 'the application with the ID in data.clientID is disabled; enable the application',
  AADSTS700016: 'the tenant has no application with the ID in data.clientID; correct data.clientID or data.tenantID',
  AADSTS90002: 'Azure has no tenant with the ID in data.tenantID; correct data.tenantID',
  AADSTS700027: 'data.clientCertificate is not registered; add the certificate to the application',
  AADSTS700024:
    'the assertion is not valid now; renew the token in data.workloadIdentityTokenFile, or correct the clock',
  AADSTS70021:
    'the application has no federated credential for the token in data.workloadIdentityTokenFile; add a federated credential',
  AADSTS700213:
    'the application has no federated credential for the token in data.workloadIdentityTokenFile; add a federated credential',
  AADSTS53003: 'a Conditional Access policy blocks the application; allow the application for the controller',
};

/** Returns the cause of a login error as a text. */
export function causeOf(refusal: string): string {
  const cause = CAUSES[/\bAADSTS\d+\b/.exec(refusal)?.[0] ?? ''];
  return cause === undefined ? '' : `: ${cause}`;
}
