import { expect, test } from 'vitest';
import { awsEndpoints } from './settings.ts';

test('endpoints of the environment are told by their variables, origins only', () => {
  const variables = { AWS_ENDPOINT_URL: 'http://127.0.0.1:5000/', AWS_ENDPOINT_URL_STS: 'https://sts.example' };
  expect(awsEndpoints(variables)).toEqual({
    AWS_ENDPOINT_URL_STS: 'https://sts.example',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:5000',
  });
});

test('those that are switched off are neither told nor judged', () => {
  const variables = { AWS_ENDPOINT_URL: 'rubbish', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
  expect(awsEndpoints(variables)).toEqual({});
  expect(() => awsEndpoints({ AWS_ENDPOINT_URL: 'rubbish' })).toThrow('AWS_ENDPOINT_URL is no URL');
});
