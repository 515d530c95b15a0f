import { serviceAccount } from './clouds.ts';
import { AWS_LOGINS } from './logins-aws.ts';
import { AZURE_LOGINS } from './logins-azure.ts';
import { GCP_LOGINS } from './logins-gcp.ts';
import { type Case, sample } from './sample.ts';

const aws = sample('AWS');
const AWS: readonly Case[] = [
  ...AWS_LOGINS,
  {
    what: 'credentials that are refused',
    secret: aws.secret({ providerSecretAccessKey: 'not-the-secret-of-this-key' }),
    event:
      /^CredentialsRefused: .*AuthFailure.*correct the credentials in Secret default\/odd \(data\.providerAccessKeyId, data\.providerSecretAccessKey\)/,
    says: /correct the credentials in Secret default\/odd \(data\.providerAccessKeyId/,
  },
  {
    what: 'a region that does not exist',
    spec: aws.spec({ region: 'eu-west-9' }),
    event: /^CloudUnreachable: .*ENOTFOUND.*check providerSpec\.region \("eu-west-9"\)/,
    says: /check providerSpec\.region \("eu-west-9"\)/,
  },
  {
    what: 'a region that is not valid in a host name',
    spec: aws.spec({ region: 'eu north 1' }),
    event: /^CloudRefuses: .*providerSpec\.region \("eu north 1"\)/,
    says: /providerSpec\.region \("eu north 1"\)/,
  },
  {
    what: 'an unreachable endpoint',
    spec: aws.spec({ region: 'eu-west-8' }),
    event:
      /^CloudUnreachable: .*ECONNREFUSED.*check providerSpec\.region \("eu-west-8"\).*the endpoint in Secret or environment/,
    says: /ECONNREFUSED.*check providerSpec\.region/,
  },
  {
    what: 'an endpoint whose certificate is not trusted',
    spec: aws.spec({ region: 'eu-west-7' }),
    event:
      /^CloudUnreachable: .*certificate of the cloud endpoint \(SELF_SIGNED_CERT_IN_CHAIN\); set NODE_EXTRA_CA_CERTS to the file/,
    says: /NODE_EXTRA_CA_CERTS/,
  },
  {
    what: 'a Secret with only one of its two keys',
    secret: aws.without('providerSecretAccessKey'),
    event:
      /^InvalidClass: .*secretRef\.AWSSecretAccessKey: Required value: Mention atleast providerSecretAccessKey.*; correct the value in Secret default\/odd$/,
    says: /providerSecretAccessKey.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a secret key that contains only spaces',
    secret: aws.secret({ providerSecretAccessKey: '   ' }),
    event: /^CredentialsRefused: .*correct the credentials in Secret default\/odd \(data\.providerAccessKeyId/,
    says: /correct the credentials in Secret default\/odd/,
  },
  {
    what: 'a missing token file',
    secret: {
      workloadIdentityTokenFile: '/var/run/nowhere/token',
      roleARN: 'arn:aws:iam::111122223333:role/r',
      userData: '#cloud-config of this test',
    },
    event: /^CredentialsRefused: .*the token file .* of workloadIdentityTokenFile cannot be read/,
    says: /token file/,
  },
  {
    what: 'an image that the cloud does not know',
    spec: aws.spec({ ami: 'ami-ffffffffffffffff0' }),
    event: /^CloudRefuses: .*ami-ffffffffffffffff0.*check providerSpec\.ami/,
    says: /ami-ffffffffffffffff0/,
  },
  {
    what: 'a Secret without credentials',
    secret: { userData: '#cloud-config of the bad-input test' },
    event: /^InvalidClass: .*providerAccessKeyId.*providerSecretAccessKey.*; correct the value in Secret default\/odd$/,
    says: /providerAccessKeyId.*providerSecretAccessKey.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'keys with invalid characters',
    secret: aws.secret({ providerAccessKeyId: 'not a key/id' }),
    event: /^CredentialsRefused: .*correct the credentials in Secret default\/odd \(data\.providerAccessKeyId/,
    says: /correct the credentials in Secret default\/odd/,
  },
  {
    what: 'a missing field',
    spec: aws.spec({ ami: undefined }),
    event: /^InvalidClass: .*providerSpec\.ami/,
    says: /providerSpec\.ami/,
  },
  {
    what: 'a wrong type',
    spec: aws.spec({ machineType: 5 }),
    event: /^InvalidClass: .*providerSpec\.machineType: must be a string, not /,
    says: /providerSpec\.machineType/,
  },
  {
    what: 'a contradiction',
    spec: aws.spec({ iam: { name: 'nodes', arn: 'arn:aws:iam::1:x' } }),
    event: /^InvalidClass: .*providerSpec\.iam: .*either IAM Name or ARN must be set/,
    says: /providerSpec\.iam/,
  },
  {
    what: 'an unknown field',
    spec: aws.spec({ machinetypes: 'm6i.large' }),
    event: /providerSpec\.machinetypes: is not a field.*did you mean machineType\?/,
    says: 'it works',
  },
];

const azure = sample('Azure');
const { properties: azureProperties } = azure.spec({}) as { readonly properties: object };
const AZURE: readonly Case[] = [
  {
    what: 'credentials that are refused',
    secret: azure.secret({ clientSecret: 'not-the-secret-of-this-client' }),
    event:
      /^CredentialsRefused: .*invalid_client.*correct the credentials in Secret default\/odd \(data\.clientID, data\.clientSecret/,
    says: /correct the credentials in Secret default\/odd/,
  },
  {
    what: 'a tenant that does not exist',
    secret: azure.secret({ tenantID: 'another-tenant-0001' }),
    event: /^CredentialsRefused: .*correct the credentials in Secret default\/odd/,
    says: /correct the credentials in Secret default\/odd/,
  },
  {
    what: 'an invalid tenant name',
    secret: azure.secret({ tenantID: 'a tenant/of nobody' }),
    event: /^InvalidClass: .*invalid tenantID\..*; correct data\.tenantID of Secret default\/odd$/,
    says: /tenantID.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a region that does not exist',
    spec: azure.spec({ location: 'westnowhere' }),
    event: /^CloudRefuses: .*westnowhere.*check providerSpec\.location \("westnowhere"\)/,
    says: /check providerSpec\.location \("westnowhere"\)/,
  },
  {
    what: 'an unreachable cloud',
    spec: azure.spec({ cloudConfiguration: { name: 'AzureChina' } }),
    event: /^CloudUnreachable: .*ENOTFOUND.*the endpoint in Secret or environment, and the network/,
    says: /ENOTFOUND/,
  },
  {
    what: 'a cloud whose certificate is not trusted',
    spec: azure.spec({ cloudConfiguration: { name: 'AzureGovernment' } }),
    event: /^CloudUnreachable: .*NODE_EXTRA_CA_CERTS/,
    says: /NODE_EXTRA_CA_CERTS/,
  },
  {
    what: 'a Secret with only one of its two keys',
    secret: azure.without('clientSecret'),
    event: /^InvalidClass: .*data\.clientSecret: Required value.*; correct the value in Secret default\/odd$/,
    says: /data\.clientSecret.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a missing token file',
    secret: { ...azure.without('clientSecret'), workloadIdentityTokenFile: '/var/run/nowhere/token' },
    event: /^CredentialsRefused: .*cannot be read/,
    says: /WorkloadIdentityCredential/,
  },
  {
    what: 'a Secret without credentials',
    secret: { userData: '#cloud-config of the bad-input test' },
    event:
      /^InvalidClass: .*data\.clientID: Required.*data\.subscriptionID: Required.*data\.tenantID: Required.*; correct the value in Secret default\/odd$/,
    says: /data\.clientID.*data\.subscriptionID.*data\.tenantID.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a missing field',
    spec: azure.spec({ location: undefined }),
    event: /^InvalidClass: .*providerSpec\.location/,
    says: /providerSpec\.location/,
  },
  {
    what: 'a wrong type',
    spec: azure.spec({ resourceGroup: ['a'] }),
    event: /^InvalidClass: .*providerSpec\.resourceGroup: must be a string, not /,
    says: /providerSpec\.resourceGroup/,
  },
  {
    what: 'a contradiction',
    spec: azure.spec({ cloudConfiguration: { name: 'AzureMars' } }),
    event:
      /^InvalidClass: .*providerSpec\.cloudConfiguration\.name: Unsupported value: "AzureMars": supported values: "AzurePublic"/,
    says: /cloudConfiguration\.name/,
  },
  {
    what: 'a class with a zone and an availability set',
    spec: azure.spec({ properties: { ...azureProperties, availabilitySet: { id: '/a' } } }),
    event: /^InvalidClass: .*zone\|\.availabilitySet\|\.virtualMachineScaleSet: Forbidden: Only one of/,
    says: /Only one of Zone, AvailabilitySet and VirtualMachineScaleSet can be set/,
  },
  {
    what: 'an unknown field',
    spec: azure.spec({ resourceGroups: 'rg' }),
    event: /providerSpec\.resourceGroups: is not a field.*did you mean resourceGroup\?/,
    says: 'it works',
  },
];

const gcp = sample('GCP');
const GCP: readonly Case[] = [
  {
    what: 'credentials that are refused',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ client_email: 'nobody@project-p.example' }) }),
    event:
      /^CredentialsRefused: .*invalid_grant.*correct the credentials in Secret default\/odd \(data\.serviceAccountJSON\)/,
    says: /correct the credentials in Secret default\/odd \(data\.serviceAccountJSON\)/,
    secrets: ['PRIVATE KEY', 'nobody@project-p.example'],
  },
  {
    what: 'credentials that are not JSON',
    secret: gcp.secret({ serviceAccountJSON: 'rubbish-of-the-secret {' }),
    event:
      /^InvalidClass: .*"serviceAccountJSON" field: failed to unmarshal json object: it is not JSON; correct data\.serviceAccountJSON of Secret default\/odd/,
    says: /serviceAccountJSON.*; correct the value in Secret default\/odd/,
    secrets: ['rubbish-of-the-secret'],
  },
  {
    what: 'credentials of an unsupported type',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ type: 'authorized_user' }) }),
    event:
      /^InvalidClass: .*forbidden credential type "authorized_user".*correct data\.serviceAccountJSON of Secret default\/odd/,
    says: /authorized_user.*; correct the value in Secret default\/odd/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'credentials with a token host that is not Google',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ token_uri: 'https://evil.example/token' }) }),
    event: /^InvalidClass: .*token_uri of "serviceAccountJSON" must be an https URL of googleapis\.com/,
    says: /token_uri/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'an invalid private key',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ private_key: 'rubbish-in-place-of-a-key' }) }),
    event:
      /^CredentialsRefused: .*private_key of the service account must be an RSA key in PEM.*data\.serviceAccountJSON/,
    says: /private_key/,
    secrets: ['rubbish-in-place-of-a-key'],
  },
  {
    what: 'an unreachable token endpoint',
    secret: gcp.secret({
      serviceAccountJSON: serviceAccount({ token_uri: 'https://tokens-west.googleapis.com/token' }),
    }),
    event: /^CloudUnreachable: .*ENOTFOUND/,
    says: /tokens-west\.googleapis\.com.*ENOTFOUND/,
    secrets: ['PRIVATE KEY'],
  },
  {
    what: 'a zone that does not exist',
    spec: gcp.spec({ zone: 'europe-nowhere1-b' }),
    secret: gcp.secret({ serviceAccountJSON: serviceAccount() }),
    event: /^CloudRefuses: .*Unknown zone.*check providerSpec\.zone \("europe-nowhere1-b"\)/,
    says: /check providerSpec\.zone/,
  },
  {
    what: 'a Secret without credentials',
    secret: { userData: '#cloud-config of the bad-input test' },
    event: /^InvalidClass: .*serviceAccountJSON.*; correct the value in Secret default\/odd$/,
    says: /serviceAccountJSON.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a Secret with only one of its two keys',
    secret: gcp.secret({ serviceAccountJSON: serviceAccount({ private_key: undefined }) }),
    event:
      /^CredentialsRefused: .*private_key of the service account.*Secret default\/odd \(data\.serviceAccountJSON\)/,
    says: /private_key of the service account.*data\.serviceAccountJSON/,
  },
  {
    what: 'a missing field',
    spec: gcp.spec({ zone: undefined }),
    event: /^InvalidClass: .*spec\.zone: Required value: zone is required/,
    says: /zone cannot be empty.*; correct providerSpec\.zone of MachineClass odd/,
  },
  {
    what: 'a wrong type',
    spec: gcp.spec({ disks: 'one' }),
    event: /^InvalidClass: .*providerSpec\.disks: must be a list, not /,
    says: /providerSpec\.disks/,
  },
  {
    what: 'a contradiction',
    spec: gcp.spec({ gpu: { acceleratorType: 'nvidia', count: 1 } }),
    event: /^InvalidClass: .*onHostMaintenance: Forbidden/,
    says: /onHostMaintenance/,
  },
  {
    what: 'an unknown field',
    spec: gcp.spec({ zones: 'b' }),
    secret: gcp.secret({ serviceAccountJSON: serviceAccount() }),
    event: /providerSpec\.zones: is not a field.*did you mean zone\?/,
    says: 'it works',
  },
];

const local = sample('local');
const LOCAL: readonly Case[] = [
  {
    what: 'credentials that are refused',
    secret: local.secret({ token: 'token-of-somebody-else' }),
    event: /^CredentialsRefused: .*correct the credentials in Secret default\/odd \(data\.endpoint, data\.token\)/,
    says: /correct the credentials in Secret default\/odd/,
  },
  {
    what: 'a zone that does not exist',
    spec: local.spec({ zone: 'local-nowhere' }),
    event: /^CloudRefuses: .*check providerSpec\.zone \("local-nowhere"\)/,
    says: /check providerSpec\.zone/,
  },
  {
    what: 'an unreachable endpoint',
    secret: local.secret({ endpoint: 'http://nowhere.example' }),
    event: /^CloudUnreachable: .*ENOTFOUND.*the endpoint in Secret or environment/,
    says: /ENOTFOUND/,
  },
  {
    what: 'an endpoint that is not a URL',
    secret: local.secret({ endpoint: 'not an endpoint' }),
    event: /^InvalidClass: .*data\.endpoint of Secret default\/odd: must be an http or https URL/,
    says: /endpoint/,
  },
  {
    what: 'a Secret with only one of its two keys',
    secret: local.without('token'),
    event: /token|CredentialsRefused/,
    says: /credentials|token/,
  },
  {
    what: 'a Secret without credentials',
    secret: { userData: '#cloud-config of the bad-input test' },
    event:
      /^InvalidClass: .*data\.endpoint: is missing, and MCM_LOCAL_CLOUD_ENDPOINT is not set.*; correct the value in Secret default\/odd$/,
    says: /data\.endpoint: is missing.*; correct the value in Secret default\/odd/,
  },
  {
    what: 'a missing field',
    spec: local.spec({ image: undefined }),
    event: /^InvalidClass: .*providerSpec\.image/,
    says: /providerSpec\.image/,
  },
  {
    what: 'a wrong type',
    spec: local.spec({ volumes: [{ sizeGi: 'ten' }] }),
    event: /^InvalidClass: .*providerSpec\.volumes\[0\]\.sizeGi: .*expected/,
    says: /providerSpec\.volumes\[0\]\.sizeGi/,
  },
  {
    what: 'a contradiction',
    spec: local.spec({ machineType: 'small', instanceType: 'large' }),
    event: /^InvalidClass: .*instanceType/,
    says: /instanceType/,
  },
  {
    what: 'an unknown field',
    spec: local.spec({ zones: 'b' }),
    event: /providerSpec\.zones: is not a field.*did you mean zone\?/,
    says: 'it works',
  },
];

export const CASES: Readonly<Record<string, readonly Case[]>> = {
  AWS,
  Azure: [...AZURE, ...AZURE_LOGINS],
  GCP: [...GCP, ...GCP_LOGINS],
  local: LOCAL,
};
