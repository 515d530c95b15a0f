import { expect, test } from 'vitest';
import { awsSettings } from './settings.ts';

const LOCAL = { AWS_ENDPOINT_URL: 'http://127.0.0.1:5000/', AWS_ENDPOINT_URL_STS: 'https://sts.example' };

test('endpoints are reported with their source and only with their origin: a flag, the variable of the service, the common variable', () => {
  const { settings, endpoints } = awsSettings(LOCAL);
  expect(endpoints).toEqual({ AWS_ENDPOINT_URL: 'http://127.0.0.1:5000', AWS_ENDPOINT_URL_STS: 'https://sts.example' });
  expect(settings).toMatchObject({ ec2Endpoint: 'http://127.0.0.1:5000/', stsEndpoint: 'https://sts.example/' });
  const flags = { 'ec2-endpoint': 'https://ec2.example/x', 'sts-endpoint': '' };
  expect(awsSettings(LOCAL, flags).endpoints).toEqual({
    '--ec2-endpoint': 'https://ec2.example',
    AWS_ENDPOINT_URL_STS: 'https://sts.example',
  });
});

test('disabled endpoints are neither reported nor checked; a flag is still used', () => {
  const variables = { AWS_ENDPOINT_URL: 'rubbish', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
  expect(awsSettings(variables)).toEqual({
    settings: { ignoreConfiguredEndpoints: true, allowPlainHttp: false },
    endpoints: {},
  });
  expect(awsSettings({ AWS_ENDPOINT_URL: 'rubbish' }, { 'ignore-configured-endpoints': true }).endpoints).toEqual({});
  expect(() => awsSettings(variables, { 'ignore-configured-endpoints': false })).toThrow(
    'AWS_ENDPOINT_URL must be an https URL',
  );
  const flags = { 'ec2-endpoint': 'https://ec2.example' };
  expect(awsSettings(variables, flags).endpoints).toEqual({ '--ec2-endpoint': 'https://ec2.example' });
});

test.each([
  [{ AWS_USE_FIPS_ENDPOINT: 'yes' }, {}, 'AWS_USE_FIPS_ENDPOINT=yes must be true or false'],
  [{ AWS_USE_DUALSTACK_ENDPOINT: '1' }, {}, 'AWS_USE_DUALSTACK_ENDPOINT=1 must be true or false'],
  [{ AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'on' }, {}, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=on must be'],
  [
    { ...LOCAL, AWS_USE_FIPS_ENDPOINT: 'true' },
    {},
    /^AWS_USE_FIPS_ENDPOINT .* AWS_ENDPOINT_URL sets another endpoint: remove one/,
  ],
  [LOCAL, { 'use-dualstack-endpoint': true }, /^--use-dualstack-endpoint .* AWS_ENDPOINT_URL sets another endpoint/],
])('errors that the SDK would report at the first call are reported at the start: %o %o', (variables, flags, says) => {
  expect(() => awsSettings(variables, flags)).toThrow(says);
});

test('the setting that disables configured endpoints is valid together with an endpoint flag', () => {
  const variables = { ...LOCAL, AWS_USE_FIPS_ENDPOINT: 'true' };
  expect(awsSettings(variables, { 'use-fips-endpoint': false }).settings).toMatchObject({ useFipsEndpoint: false });
});

test('endpoints of the shared configuration have the lowest precedence: the service’s, then the profile’s; plain http is refused there too', () => {
  const profile = { endpoint_url: 'https://shared.example' };
  const services = { name: 'ours', section: { 'ec2.endpoint_url': 'https://ec2.shared.example' } };
  expect(awsSettings({}, {}, { profile, services }).endpoints).toEqual({
    'ec2.endpoint_url of the shared configuration': 'https://ec2.shared.example',
    'endpoint_url of the shared configuration': 'https://shared.example',
  });
  const variables = { AWS_ENDPOINT_URL: 'https://all.example' };
  expect(awsSettings(variables, {}, { profile, services }).endpoints).toEqual(variables);
  const off = { profile: { ...profile, ignore_configured_endpoint_urls: 'true' }, services };
  expect(awsSettings(variables, {}, off).endpoints).toEqual({});
  expect(() => awsSettings({}, {}, { profile: { endpoint_url: 'http://far.example' }, services: undefined })).toThrow(
    /^endpoint_url of the shared configuration is http:.*plain http/,
  );
});
